/** @file What a schema expects and what was found instead, in a person's words. */
import type { z } from 'zod'
import { yamlValue } from './edit.ts'
import { bare, type Def, defOf, metaOf } from './walk.ts'

/** `sync | async | geo`, `a whole number from 1 on`, `a list of text`. */
export function describeSchema(schema: z.ZodType): string {
  const { expected } = metaOf(schema)
  if (expected) return expected
  const base = bare(schema)
  const def = defOf(base)
  return DESCRIBE[def.type]?.(def, base) ?? 'another value'
}

/** The value as it would stand in yaml, shortened. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  const text = typeof value === 'string' ? JSON.stringify(value) : yamlValue(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

/** The literal values a schema takes, if that is all it takes. */
export function literalsOf(schema: z.ZodType): readonly string[] {
  const def = defOf(bare(schema))
  if (def.entries) return Object.values(def.entries).map(String)
  if (def.type === 'literal') return (def.values ?? []).map(String)
  if (def.type === 'union') return (def.options ?? []).flatMap(literalsOf)
  return []
}

const DESCRIBE: Readonly<Record<string, (def: Def, schema: z.ZodType) => string>> = {
  boolean: () => 'True or False',
  string: () => 'text',
  number: (_def, schema) => describeNumber(schema as z.ZodNumber),
  enum: (def) => Object.values(def.entries ?? {}).join(' | '),
  literal: (def) => (def.values ?? []).join(' | '),
  array: (def) => `a list of ${plural(describeSchema(def.element!))}`,
  tuple: (def) => `a list of ${def.items?.length ?? 0} values`,
  object: () => 'a group of keys',
  record: () => 'a group of keys',
  union: (def) => [...new Set((def.options ?? []).map(describeSchema))].join(' or '),
}

function describeNumber(schema: z.ZodNumber): string {
  const min = schema.minValue ?? Number.NEGATIVE_INFINITY
  const max = schema.maxValue ?? Number.POSITIVE_INFINITY
  const kind = schema.isInt ? 'a whole number' : 'a number'
  const low = min > Number.MIN_SAFE_INTEGER
  const high = max < Number.MAX_SAFE_INTEGER
  if (low && high) return `${kind} from ${min} to ${max}`
  if (low) return schema.safeParse(min).success ? `${kind} from ${min} on` : `${kind} above ${min}`
  return high ? `${kind} up to ${max}` : kind
}

const plural = (words: string) => words.replace(/^an? (whole )?number/, (_all, whole) => `${whole ?? ''}numbers`)
