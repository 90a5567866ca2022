/** @file The optimizer of one of several copies of a model, which train at once and are brought together now and then. */
import type { OptimizerKind, OptimizerSpec } from './optimizer.ts'
import type { Schedule } from './schedule.ts'

type Rules = {
  readonly [K in OptimizerKind]: (spec: Extract<OptimizerSpec, { kind: K }>, copies: number) => OptimizerSpec
}

/**
 * A copy's state sees one of `copies` gradients that a weight gets: each stands for so many. Moments forget by all steps
 * (beta^copies for each own step), accumulators count each gradient `copies` times. By its own count, momentum goes on in a
 * direction for `copies` times as many samples as in one process, in every copy, and what they bring in together overshoots.
 */
export function amongCopies(spec: OptimizerSpec, copies: number): OptimizerSpec {
  return (RULES[spec.kind] as (spec: OptimizerSpec, copies: number) => OptimizerSpec)(spec, copies)
}

const RULES: Rules = {
  sgd: (spec) => spec,
  // One gradient moves a weight as far in all as it did: rate / (1 - momentum) stays.
  momentum: (spec, copies) => ({ ...spec, ...forgetting(spec, copies) }),
  // rate * g / sqrt(initial + copies * sum of g^2), written with the plain sum.
  adagrad: (spec, copies) => ({
    ...timesRate(spec, 1 / Math.sqrt(copies)),
    epsilon: spec.epsilon / Math.sqrt(copies),
    initialAccumulator: spec.initialAccumulator / copies,
  }),
  rmsprop: (spec, copies) => ({ ...spec, ...forgetting(spec, copies), rho: spec.rho ** copies }),
  adam: (spec, copies) => ({ ...spec, beta1: spec.beta1 ** copies, beta2: spec.beta2 ** copies }),
  // Its weights follow from the sum of its own gradients: there is nothing to forget.
  ftrl: (spec) => spec,
}

function forgetting<S extends OptimizerSpec & { readonly momentum: number }>(spec: S, copies: number): S {
  const momentum = spec.momentum ** copies
  return { ...timesRate(spec, (1 - momentum) / (1 - spec.momentum)), momentum }
}

/** The same optimizer with rates, also those of its schedule, so many times as large. */
export function timesRate<S extends OptimizerSpec>(spec: S, factor: number): S {
  const { schedule, learningRate } = spec
  const faster = { ...spec, learningRate: factor * learningRate }
  return schedule ? { ...faster, schedule: times(schedule, factor) } : faster
}

/** The rates that a schedule has of its own. */
function times(schedule: Schedule, factor: number): Schedule {
  if (schedule.kind === 'piecewise') return { ...schedule, values: schedule.values.map((value) => factor * value) }
  if (schedule.kind === 'cosine') return { ...schedule, floor: factor * (schedule.floor ?? 0) }
  if (schedule.kind !== 'warmup') return schedule
  const { start = 0, after } = schedule
  const warmed = { ...schedule, start: factor * start }
  return after ? { ...warmed, after: times(after, factor) } : warmed
}
