/** @file Forms that 1.x configs may have and mean the same: one name for a list of names, capitals in a class. */
import { isRecord } from '../override.ts'

/** A copy in the form that the schema describes; what is neither is left for the schema to refuse. */
export function normalize(data: unknown): unknown {
  if (!isRecord(data)) return data
  return {
    ...data,
    ...('mode' in data && { mode: listOf(data['mode']) }),
    ...('runner' in data && { runner: each(data['runner'], normalizeRunner) }),
  }
}

function normalizeRunner(runner: Record<string, unknown>): unknown {
  const lower = LOWER.flatMap((key) => (typeof runner[key] === 'string' ? [[key, runner[key].toLowerCase()]] : []))
  return { ...runner, ...Object.fromEntries(lower), ...('phases' in runner && { phases: listOf(runner['phases']) }) }
}

const LOWER = ['class', 'device', 'fleet_mode'] as const

const listOf = (value: unknown): unknown =>
  typeof value === 'string'
    ? value.split(/[\s,]+/).filter((item) => item !== '')
    : typeof value === 'number'
      ? [value]
      : value

const each = (list: unknown, change: (item: Record<string, unknown>) => unknown): unknown =>
  Array.isArray(list) ? list.map((item) => (isRecord(item) ? change(item) : item)) : list
