/** @file What a sweep tries: values by key, drawn at random from a seed or from a grid. */
import { createRng, deriveSeed, type Rng, UserError } from '../base/util/index.ts'

/** `log:1e-4..1e-2`, `0.1..0.5`, `int:8..64`, `relu,tanh`; with `:5` behind a range so many points of a grid. */
export interface SearchKey {
  readonly key: string
  readonly values: Values
}

type Values =
  | { readonly kind: 'list'; readonly list: readonly string[] }
  | {
      readonly kind: 'log' | 'uniform' | 'int'
      readonly low: number
      readonly high: number
      readonly points: number | undefined
    }

/** Settings by key, as `-o` takes them. */
export type Trial = Readonly<Record<string, string>>

export function parseSearch(typed: readonly string[]): readonly SearchKey[] {
  const keys = typed.map(parseKey)
  const twice = keys.find(({ key }, i) => keys.findIndex((other) => other.key === key) !== i)
  if (twice) throw wrong(`${twice.key} is given twice`, 'give each key once')
  return keys
}

const RANGE = /^(?:(log|int):)?([^.]\S*?|\.\d\S*?)\.\.([^:]+?)(?::(\d+))?$/

function parseKey(typed: string): SearchKey {
  const [, key, text] = /^([\w.]+)=(.+)$/.exec(typed) ?? []
  if (key === undefined || text === undefined)
    throw wrong(`"${typed}" is no KEY=VALUES`, 'write --set hyper_parameters.optimizer.learning_rate=log:1e-4..1e-2')
  const range = RANGE.exec(text)
  if (!range) {
    if (text.startsWith('log:') || text.startsWith('int:'))
      throw wrong(`${key}: "${text}" is no range`, `write --set ${key}=${text.slice(0, 3)}:1..100`)
    return { key, values: { kind: 'list', list: text.split(',') } }
  }
  const [kind, low, high] = [range[1] ?? 'uniform', Number(range[2]), Number(range[3])] as const
  const points = range[4] === undefined ? undefined : Number(range[4])
  const fits =
    low < high &&
    (kind !== 'log' || low > 0) &&
    (kind !== 'int' || (Number.isSafeInteger(low) && Number.isSafeInteger(high)))
  if (!fits) throw wrong(`${key}: "${text}" is no range`, RANGES[kind as keyof typeof RANGES])
  if (points !== undefined && points < 2) throw wrong(`${key}: a grid of ${points} points`, 'give 2 or more')
  return { key, values: { kind: kind as 'log' | 'uniform' | 'int', low, high, points } }
}

const RANGES = {
  log: 'both ends are numbers above 0, the lower one first: log:1e-4..1e-2',
  uniform: 'both ends are numbers, the lower one first: 0.1..0.5',
  int: 'both ends are whole numbers, the lower one first: int:8..64',
} as const

/** Trial `index` of a sweep: a pure function of seed and index, however many there are. */
export function randomTrial(keys: readonly SearchKey[], seed: number, index: number): Trial {
  const rng = createRng(deriveSeed(seed, `trial ${index}`))
  return Object.fromEntries(keys.map(({ key, values }) => [key, drawn(values, rng)]))
}

function drawn(values: Values, rng: Rng): string {
  if (values.kind === 'list') return values.list[rng.below(values.list.length)]!
  return valueAt(values, rng.uniform())
}

function valueAt({ kind, low, high }: Exclude<Values, { kind: 'list' }>, share: number): string {
  if (kind === 'int') return String(Math.min(high, low + Math.floor(share * (high - low + 1))))
  const value = kind === 'log' ? low * (high / low) ** share : low + (high - low) * share
  return String(Number(value.toPrecision(6)))
}

/** Every combination. */
export function gridTrials(keys: readonly SearchKey[]): readonly Trial[] {
  const lists = keys.map(({ key, values }) => ({ key, list: pointsOf(key, values) }))
  return lists.reduce<readonly Trial[]>(
    (trials, { key, list }) => trials.flatMap((trial) => list.map((value) => ({ ...trial, [key]: value }))),
    [{}],
  )
}

function pointsOf(key: string, values: Values): readonly string[] {
  if (values.kind === 'list') return values.list
  const { points, low, high, kind } = values
  if (points === undefined)
    throw wrong(`${key}: a grid needs points of a range`, `write ${key}=...:5 for five of them, or a list`)
  if (kind === 'int')
    return Array.from({ length: points }, (_, i) => String(Math.round(low + ((high - low) * i) / (points - 1))))
  return Array.from({ length: points }, (_, i) => valueAt(values, i / (points - 1)))
}

function wrong(message: string, hint: string): UserError {
  return new UserError(`--set: ${message}`, { code: 'CLI_OPTION', hint })
}
