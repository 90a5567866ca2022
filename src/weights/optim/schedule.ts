/** @file Learning-rate schedules: pure functions of the step (counted from 0). */

/** A multiplier or absolute rate over steps, as plain data. */
export type Schedule =
  | { readonly kind: 'constant' }
  /** rate * gamma^(step / every); in whole stairs when `staircase`. */
  | { readonly kind: 'exponential'; readonly gamma: number; readonly every: number; readonly staircase?: boolean }
  /** values[i] while step < boundaries[i]; the last value after them. Values are absolute rates. */
  | { readonly kind: 'piecewise'; readonly boundaries: readonly number[]; readonly values: readonly number[] }
  /** Linear from `start` to the rate over `steps`, then `after`. */
  | { readonly kind: 'warmup'; readonly steps: number; readonly start?: number; readonly after?: Schedule }
  /** Half a cosine from the rate to `floor` over `steps`, then `floor`. */
  | { readonly kind: 'cosine'; readonly steps: number; readonly floor?: number }

/** The learning rate of `step`. */
export function scheduledRate(rate: number, schedule: Schedule, step: number): number {
  switch (schedule.kind) {
    case 'constant':
      return rate
    case 'exponential': {
      const exponent = step / schedule.every
      return rate * schedule.gamma ** (schedule.staircase ? Math.floor(exponent) : exponent)
    }
    case 'piecewise': {
      const place = schedule.boundaries.findIndex((boundary) => step < boundary)
      return schedule.values[place < 0 ? schedule.boundaries.length : place] ?? rate
    }
    case 'warmup': {
      const { steps, start = 0, after = { kind: 'constant' } } = schedule
      return step < steps ? start + ((rate - start) * step) / steps : scheduledRate(rate, after, step - steps)
    }
    case 'cosine': {
      const { steps, floor = 0 } = schedule
      return floor + ((rate - floor) * (1 + Math.cos(Math.PI * Math.min(1, step / steps)))) / 2
    }
  }
}
