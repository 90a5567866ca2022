/**
 * @file PaddleRec 1.x: modes, runners and phases of its config.yaml.
 * Knows nothing of the command line; training itself is the driver's.
 */
export { type RunOptions, type RunResult, runModes } from './run.ts'
