/** @file What a model says about its optimizer, checked where it says so: numbers that are none train nothing, and nobody would know. */
import { type OptionNames, optionError, refuseOptions, suggest, unknownOf } from '../../base/util/index.ts'
import type { Clip } from './optimizer.ts'
import type { Schedule } from './schedule.ts'

export type OptionType = 'number' | 'boolean' | 'schedule' | 'clip'

export function checkOptions(what: string, given: object, known: Readonly<Record<string, OptionType>>): void {
  refuseOptions(what, unknownOf(given, known), known)
  for (const [name, value] of Object.entries(given)) if (value !== undefined) CHECKS[known[name]!](what, name, value)
}

const CHECKS: Readonly<Record<OptionType, (what: string, name: string, value: unknown) => void>> = {
  number: checkNumber,
  boolean: checkFlag,
  schedule: (what, name, value) => checkKind(`${what}: ${name}`, value, SCHEDULES),
  clip: (what, name, value) => checkKind(`${what}: ${name}`, value, CLIPS),
}

function checkFlag(what: string, name: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw optionError(`${what}: ${name} is ${printed(value)}`, `Write ${name}: true or ${name}: false.`)
}

function checkNumber(what: string, name: string, value: unknown): void {
  if (typeof value === 'number' && Number.isFinite(value)) return
  throw optionError(`${what}: ${name} is ${printed(value)}, not a number`, `Write a number: ${name}: 0.001`)
}

type Kinds<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: {
    readonly names: OptionNames<Omit<Extract<T, { kind: K }>, 'kind'>>
    readonly needs: string[]
  }
}

const SCHEDULES: Kinds<Schedule> = {
  constant: { names: {}, needs: [] },
  exponential: { names: { gamma: true, every: true, staircase: true }, needs: ['gamma', 'every'] },
  piecewise: { names: { boundaries: true, values: true }, needs: ['boundaries', 'values'] },
  warmup: { names: { steps: true, start: true, after: true }, needs: ['steps'] },
  cosine: { names: { steps: true, floor: true }, needs: ['steps'] },
}

const CLIPS: Kinds<Clip> = {
  value: { names: { max: true, min: true }, needs: ['max'] },
  norm: { names: { max: true }, needs: ['max'] },
  global_norm: { names: { max: true }, needs: ['max'] },
}

function checkKind(
  what: string,
  given: unknown,
  kinds: Readonly<Record<string, { readonly names: object; readonly needs: readonly string[] }>>,
): void {
  const { kind, ...rest } = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>
  const found = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (!found) {
    const guess = typeof kind === 'string' ? suggest(kind, Object.keys(kinds)) : undefined
    const names = Object.keys(kinds).join(', ')
    throw optionError(
      `${what} is of no known kind (${printed(kind ?? given)}); kinds: ${names}`,
      guess ? `Did you mean { kind: '${guess}' }?` : `Write { kind: '${Object.keys(kinds)[0]}' }, or another of these.`,
    )
  }
  refuseOptions(`${what} "${kind as string}"`, unknownOf(rest, found.names), found.names)
  const missing = found.needs.find((name) => rest[name] === undefined)
  if (missing) throw optionError(`${what} "${kind as string}" needs ${missing}`, `Add ${missing}: to it.`)
  for (const name of ['gamma', 'every', 'steps', 'start', 'floor', 'max', 'min'])
    if (rest[name] !== undefined) checkNumber(what, name, rest[name])
  if (rest['after'] !== undefined) checkKind(`${what} after the warm-up`, rest['after'], kinds)
}

function printed(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
}
