/** @file Values as PaddleRec users write them (0/1 for False/True, quoted numbers, `key:` with nothing), led by the schema; and a legal value near an illegal one. */
import type { z } from 'zod'
import { suggest } from '../util/index.ts'
import { literalsOf } from './describe.ts'
import { bare, defaultOf, defOf, isOptional, metaOf } from './walk.ts'

/** The value in the type the schema asks for, where that is beyond doubt; else as it is, for the schema to refuse. */
export function loosen(schema: z.ZodType, value: unknown): unknown {
  if (value === null && isOptional(schema)) return undefined
  const base = bare(schema)
  const def = defOf(base)
  const cast = CASTS[def.type]
  return cast ? cast(value, base, schema) : value
}

type Cast = (value: unknown, base: z.ZodType, schema: z.ZodType) => unknown

const CASTS: Readonly<Record<string, Cast>> = {
  boolean: (value) => TRUTH.get(typeof value === 'string' ? value.toLowerCase() : value) ?? value,
  number: (value) => (typeof value === 'string' && NUMBER.test(value.trim()) ? Number(value) : value),
  string: (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value),
  enum: (value, _base, schema) => (typeof value === 'string' ? (metaOf(schema).aliases?.[value] ?? value) : value),
  array: (value, base) => (Array.isArray(value) ? value.map((item) => loosen(defOf(base).element!, item)) : value),
  object: (value, base) => mapValues(value ?? {}, (key, item) => loosenEntry(defOf(base).shape?.[key], item)),
  record: (value, base) => mapValues(value, (_key, item) => loosen(defOf(base).valueType!, item)),
}

// YAML 1.1, which PaddleRec's loader reads, takes yes/no/on/off for booleans.
const TRUTH: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [0, false],
  [1, true],
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

const loosenEntry = (schema: z.ZodType | undefined, value: unknown) => (schema ? loosen(schema, value) : value)

function mapValues(value: unknown, change: (key: string, item: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, change(key, item)]))
}

/** `guess` is what the user probably meant; `value` is what to write instead (undefined: leave the key out). */
export interface Repair {
  readonly guess?: string | undefined
  readonly value: unknown
}

export function repair(schema: z.ZodType, value: unknown): Repair {
  const accepted = (candidate: unknown) => candidate !== undefined && schema.safeParse(candidate).success
  const meant = candidates(schema, value).find(accepted)
  if (meant !== undefined)
    return { value: meant, guess: typeof meant === 'string' || typeof meant === 'boolean' ? words(meant) : undefined }
  const near = clamped(schema, value).find(accepted)
  return { value: near ?? [defaultOf(schema), metaOf(schema).example].find(accepted) }
}

const words = (value: string | boolean) => (typeof value === 'boolean' ? (value ? 'True' : 'False') : value)

/** What the user may have meant. */
function candidates(schema: z.ZodType, value: unknown): unknown[] {
  const def = defOf(bare(schema))
  const text = String(value).trim()
  const literals = [...literalsOf(schema), ...Object.keys(metaOf(schema).aliases ?? {})]
  if (literals.length > 0) {
    const plain = text.replace(/[-\s]/g, '_')
    const near = literals.find((name) => name.toLowerCase() === plain.toLowerCase()) ?? suggest(text, literals)
    return near === undefined ? [] : [loosen(schema, near)]
  }
  return CANDIDATES[def.type]?.(value, text, schema) ?? []
}

const CANDIDATES: Readonly<Record<string, (value: unknown, text: string, schema: z.ZodType) => unknown[]>> = {
  boolean: (_value, text) => {
    const word = suggest(text, ['true', 'false', 'yes', 'no'])
    return word === undefined ? [] : [word === 'true' || word === 'yes']
  },
  number: (value, text) => {
    if (Array.isArray(value) && value.length === 1) return [Number(value[0])]
    const match = /^([+-]?[\d_,\s]*\.?\d+)\s*([kKmM])?/.exec(text)
    const number = match
      ? Number(match[1]!.replace(/[_,\s]/g, '')) * (SCALE[match[2]?.toLowerCase() ?? ''] ?? 1)
      : Number.NaN
    return [number, Math.round(number)].filter(Number.isFinite)
  },
  string: (value, text) => {
    if (Array.isArray(value)) return value.length > 0 ? [String(value[0])] : []
    return typeof value === 'string' ? [text.replaceAll(/[-/.]/g, '')] : [] // a day as 2019-07-20
  },
  array: (value, text, schema) => {
    const parts = typeof value === 'string' ? text.split(/[\s,]+/).filter((part) => part !== '') : [value].flat()
    const element = defOf(bare(schema)).element!
    const mended = parts.map((part) => {
      const loose = loosen(element, part)
      return element.safeParse(loose).success ? loose : repair(element, loose).value
    })
    return value === null || (typeof value === 'object' && !Array.isArray(value)) ? [] : [mended]
  },
}

const SCALE: Readonly<Record<string, number>> = { '': 1, k: 1000, m: 1_000_000 }

/** The nearest legal numbers. */
function clamped(schema: z.ZodType, value: unknown): unknown[] {
  const base = bare(schema)
  if (defOf(base).type !== 'number' || typeof value !== 'number' || !Number.isFinite(value)) return []
  const { minValue, maxValue } = base as z.ZodNumber
  const inside = Math.min(Math.max(value, minValue ?? value), maxValue ?? value)
  return [inside, Math.round(inside), 2 ** Math.round(Math.log2(Math.max(1, inside)))]
}
