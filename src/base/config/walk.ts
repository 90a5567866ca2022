/** @file Questions about a zod schema: what stands at a path, its default, its keys. Works for models' own schemas too. */
import type { z } from 'zod'
import type { OptionMeta } from './option.ts'

export type Path = readonly (string | number)[]

/** The schema at a path of the data, or undefined where none is declared. */
export function schemaAt(root: z.ZodType, path: Path): z.ZodType | undefined {
  let schema: z.ZodType | undefined = root
  for (const step of path) schema = schema && childOf(bare(schema), step)
  return schema
}

/** The schema without default, optional and the like. */
export function bare(schema: z.ZodType): z.ZodType {
  const def = defOf(schema)
  const inner = WRAPPERS.has(def.type) ? def.innerType : def.type === 'pipe' ? def.in : undefined
  return inner ? bare(inner) : schema
}

/** True where the key may be left out. */
export const isOptional = (schema: z.ZodType): boolean => schema.safeParse(undefined).success

/** The value used when the key is left out; undefined if there is none. */
export const defaultOf = (schema: z.ZodType): unknown => schema.safeParse(undefined).data

/** Names of the keys of an object schema. */
export function keysOf(schema: z.ZodType | undefined): readonly string[] {
  return schema ? Object.keys(defOf(bare(schema)).shape ?? {}) : []
}

/** What was declared beside the schema, on it or under its wrappers. */
export function metaOf(schema: z.ZodType): Partial<OptionMeta> {
  const def = defOf(schema)
  const inner = WRAPPERS.has(def.type) && def.innerType ? metaOf(def.innerType) : {}
  return { ...inner, ...(schema.meta() as Partial<OptionMeta> | undefined) }
}

/** The fields of zod's definitions that are read here. */
export interface Def {
  readonly type: string
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly element?: z.ZodType
  readonly items?: readonly z.ZodType[]
  readonly valueType?: z.ZodType
  readonly options?: readonly z.ZodType[]
  readonly entries?: Readonly<Record<string, string | number>>
  readonly values?: readonly unknown[]
}

export const defOf = (schema: z.ZodType): Def => schema.def as unknown as Def

const WRAPPERS: ReadonlySet<string> = new Set([
  'default',
  'prefault',
  'optional',
  'nullable',
  'readonly',
  'nonoptional',
  'catch',
])

function childOf(schema: z.ZodType, step: string | number): z.ZodType | undefined {
  const def = defOf(schema)
  if (typeof step === 'number') return def.element ?? def.items?.[step]
  return def.shape?.[step] ?? def.valueType
}
