/** @file The few kinds of value a config key can have. Each key is one call: kind, one sentence, default. */
import { z } from 'zod'

/** What a key's schema carries for docs, editors and fixes. */
export interface OptionMeta {
  readonly description: string
  /** A legal value to show where there is no default. */
  readonly example?: unknown
  /** Other spellings that mean a listed value, e.g. InMemoryDataset. */
  readonly aliases?: Readonly<Record<string, string>>
  /** What a refined value must be, in words, where the type alone does not say it. */
  readonly expected?: string
  /** Values of PaddleRec that Oarfish will not have, with what to say about each. */
  readonly refused?: Readonly<Record<string, string>>
}

type Shape = Readonly<Record<string, z.ZodType>>

/** A group of keys that docs show together. */
export interface OptionGroup<S extends Shape = Shape> {
  readonly title: string
  readonly intro: string
  readonly shape: S
}

export const group = <const S extends Shape>(title: string, intro: string, shape: S): OptionGroup<S> => ({
  title,
  intro,
  shape,
})

export const flag = (byDefault: boolean, description: string) => z.boolean().default(byDefault).meta({ description })

/** A whole number from `min` on, with a default. */
export const count = (byDefault: number, min: number, description: string) =>
  z.int().min(min).default(byDefault).meta({ description })

export const optionalCount = (min: number, description: string, example: number) =>
  z.int().min(min).optional().meta({ description, example })

export const text = (byDefault: string, description: string) => z.string().default(byDefault).meta({ description })

export const optionalText = (description: string, example: string) =>
  z.string().min(1).optional().meta({ description, example, expected: 'text that is not empty' })

export const names = (description: string) => z.array(z.string()).default([]).meta({ description })

export const choice = <const L extends readonly [string, ...string[]], const D extends L[number]>(
  list: L,
  byDefault: D,
  description: string,
  aliases: Readonly<Record<string, L[number]>> = {},
) =>
  z
    .enum(list)
    .default(byDefault as never)
    .meta({ description, aliases })

/** A key whose value is kept as it is. */
export const anything = (description: string) => z.unknown().optional().meta({ description })

/** Keys whose values belong to a model or a reader, which checks them itself. */
export const free = (description: string) => z.record(z.string(), z.unknown()).default({}).meta({ description })
