/** @file A legal value near an illegal one: candidates in order of likelihood, of which the schema takes the first it accepts. */
import type { z } from 'zod'
import { suggest } from '../util/index.ts'
import { literalsOf } from './describe.ts'
import { loosen } from './loose.ts'
import { bare, defaultOf, defOf, metaOf } from './walk.ts'

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
