/** @file An optimizer with other rates, those of its schedule included. */
import type { OptimizerSpec } from './optimizer.ts'
import type { Schedule } from './schedule.ts'

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
