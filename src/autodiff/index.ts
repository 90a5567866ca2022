/** @file The public face of autodiff/: programs into programs. */
export { backward } from './backward.ts'
export { inference, inputGradientName } from './phase.ts'
export { GRADIENT_RULES, type GradientRule, type GradientRules } from './rules.ts'
