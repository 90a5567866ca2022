/**
 * @file Models of ours beside Paddle's: weights of a .pdparams by name, and what both compute.
 * Knows nothing of how a model was ported, and runs nothing that a file of weights names.
 */
export { type Match, matchWeights } from './match.ts'
export { type ParityOptions, type ParityResult, parity, type Reference } from './parity.ts'
export { type PaddleWeight, readPdparams } from './pdparams.ts'
export { runPaddle } from './real-paddle.ts'
export { parityReport } from './report.ts'
