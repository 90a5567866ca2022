/** @file The passes of days as numbers: which pass of which day an epoch is, and which splits it trains. Pure. */
import type { JobConfig } from '../../base/config/index.ts'
import { dayAfter, daysBetween, isDay, splitsOfDay, UserError } from '../../base/util/index.ts'

/** One pass of a day. */
export interface PassOfDay {
  readonly day: string
  /** From 1. */
  readonly pass: number
  /** Names of its splits, HHMM. */
  readonly splits: readonly string[]
  readonly isLast: boolean
}

export interface Days {
  readonly passes: number
  /** Passes of all days; infinite where no day is the last. */
  readonly epochs: number
  at(epoch: number): PassOfDay
  /** The number of a pass. */
  epochOf(day: string, pass: number): number
}

/** By start_day, end_day, split_interval and split_per_pass. Splits that do not fill a pass are left out, as in PaddleRec. */
export function daysOf({ runner, path }: Pick<JobConfig, 'runner' | 'path'>): Days {
  const { start_day: start = '', end_day: end, split_interval, split_per_pass } = runner
  const wrong = (key: string, message: string, hint: string) =>
    new UserError(`runner.${key}: ${message}`, { code: 'ONLINE_DAYS', where: { file: path }, hint })
  for (const [key, day] of Object.entries({ start_day: start, end_day: end }))
    if (day !== undefined && !isDay(day))
      throw wrong(key, `${day} is not a day of the calendar`, 'write it as YYYYMMDD, such as 20190720')
  if (end !== undefined && end < start)
    throw wrong(
      'end_day',
      `${end} is before start_day (${start})`,
      'give a later day, or leave end_day out to train for ever',
    )
  const splits = splitsOfDay(split_interval)
  const passes = Math.floor(splits.length / split_per_pass)
  if (passes === 0)
    throw wrong(
      'split_per_pass',
      `a day has ${splits.length} splits of ${split_interval} minutes, fewer than the ${split_per_pass} of a pass`,
      'lower split_per_pass or split_interval',
    )
  return {
    passes,
    epochs: end === undefined ? Number.POSITIVE_INFINITY : passes * (daysBetween(start, end) + 1),
    at: (epoch) => {
      const pass = (epoch % passes) + 1
      const first = (pass - 1) * split_per_pass
      return {
        day: dayAfter(start, Math.floor(epoch / passes)),
        pass,
        splits: splits.slice(first, first + split_per_pass),
        isLast: pass === passes,
      }
    },
    epochOf: (day, pass) => daysBetween(start, day) * passes + pass - 1,
  }
}
