/** @file What an optimizer's state keeps of itself through an update: by that, states that were trained apart are put together. */
import type { OptimizerKind, OptimizerSpec } from './optimizer.ts'

/**
 * By run of state, what one update leaves of it: an update makes `decay * state + what the gradient adds`. Undefined where it fades by
 * time, whether the row is updated or not (Adam that is not lazy).
 */
export function stateDecays(spec: OptimizerSpec): readonly number[] | undefined {
  return (DECAYS[spec.kind] as (spec: OptimizerSpec) => readonly number[] | undefined)(spec)
}

const DECAYS: {
  readonly [K in OptimizerKind]: (spec: Extract<OptimizerSpec, { kind: K }>) => readonly number[] | undefined
} = {
  sgd: () => [],
  momentum: ({ momentum }) => [momentum],
  adagrad: () => [1],
  rmsprop: ({ rho, momentum, centered }) => (centered ? [rho, momentum, rho] : [rho, momentum]),
  adam: ({ beta1, beta2, lazy }) => (lazy ? [beta1, beta2] : undefined),
  ftrl: () => [1, 1],
}
