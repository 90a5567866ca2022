/** @file Reads values the way PaddleRec users write them (0/1 for False/True, quoted numbers, `key:` with nothing), led by the schema. */
import type { z } from 'zod'
import { bare, defOf, isOptional, metaOf } from './walk.ts'

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
