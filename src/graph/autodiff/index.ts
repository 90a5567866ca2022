/**
 * @file Programs into programs: gradients, what inference needs of a traced model, simplification.
 * Knows ops and their gradients, nothing of ONNX or of who runs the result.
 */
export { backward } from './backward.ts'
export { inference } from './phase.ts'
export { GRADIENT_RULES, type GradientRules } from './rules.ts'
