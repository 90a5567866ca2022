/** @file The public face of autodiff/: programs into programs. */
export { backward, inputGradientName } from './backward.ts'
export { inference } from './phase.ts'
export { GRADIENT_RULES, type GradientRule, type GradientRules } from './rules.ts'
