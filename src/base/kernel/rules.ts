/** @file The optimizer rules the kernels know, by the numbers assembly/rules.ts uses. */

export const RULES = { sgd: 0, momentum: 1, adagrad: 2, rmsprop: 3, adam: 4, ftrl: 5 } as const
export type RuleName = keyof typeof RULES

/** A rule and its constants, ready for a kernel's `configure`. What a, b and c mean is the rule's business (optim/rules.ts). */
export interface KernelRule {
  readonly rule: RuleName
  readonly a: number
  readonly b: number
  readonly c: number
  readonly flags: number
  /** Runs of state behind the weight, each as long as the weight. */
  readonly states: number
  /** First value of the first state. */
  readonly stateInit: number
  /** Rows remember the step of their last update (Adam that is not lazy). */
  readonly clocked: boolean
}

/** What every kernel that applies rules exports. */
export interface RuleKernel {
  configure(rule: number, a: number, b: number, c: number, flags: number): void
  setStep(rate: number, aux: number, l2: number): void
}

export function configureRule(kernel: RuleKernel, { rule, a, b, c, flags }: KernelRule): void {
  kernel.configure(RULES[rule], a, b, c, flags)
}
