/** @file Which jobs `oarfish jobs` is asked for. */
import { UserError } from '../base/util/index.ts'
import type { JobFilter } from '../jobs/server/index.ts'
import { oneOf } from './options.ts'

export const PHASES = ['uploading', 'queued', 'starting', 'running', 'succeeded', 'failed', 'stopped'] as const

export interface FilterFlags {
  readonly state?: string
  readonly group?: string
  readonly user?: string
  readonly since?: string
  readonly all?: boolean
}

export const filterOf = ({ state, since, group, user, all }: FilterFlags, now = Date.now()): JobFilter => ({
  state: state?.split(',').map((word) => oneOf('--state', PHASES, word.trim())),
  since: since === undefined ? undefined : timeOf(since, now),
  ...{ group, user, all },
})

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, or how long ago: `12h`. */
function timeOf(text: string, now: number): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text.trim()) ?? []
  const time = unit === undefined ? Date.parse(text) : now - Number(count) * UNITS[unit]!
  if (!Number.isNaN(time)) return time
  throw new UserError(`--since: ${JSON.stringify(text)} is no time.`, {
    code: 'CLI_OPTION',
    hint: 'Write 2026-11-17, 2026-11-17T08:00, or how long ago: 30m, 12h, 7d.',
  })
}
