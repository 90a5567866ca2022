/**
 * @file Drafts of model.ts from PaddleRec's Python: parsed by Python itself, followed with the values of the config, written in TypeScript.
 * Knows nothing of training: it runs neither the Python nor the draft.
 */
export { SECTIONS } from './calls/index.ts'
export { type Draft, type PortOptions, portModel } from './port.ts'
export { portReport } from './report.ts'
