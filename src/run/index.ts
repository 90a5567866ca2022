/** @file The public face of run/: PaddleRec 1.x's modes, runners and phases. */
export { type RunOptions, type RunResult, runModes } from './run.ts'
