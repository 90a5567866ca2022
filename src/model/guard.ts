/** @file What a net asks for by name: a name that is not there is an error with those that are, where it was asked for. */
import type { z } from 'zod'
import { shown, suggest, UserError, userPlace } from '../base/util/index.ts'

const DECLARE = {
  input: (name: string) => `Declare it in inputs: (feeds) => ({ ${name}: feeds.dense('${name}', 1) })`,
  'hyper-parameter': (name: string, path: string) =>
    `Declare ${path}${name} in hyperParameters: ${name}: z.number().default(1)`,
  'run setting': () => 'What else a net needs to know is a hyper-parameter.',
  result: (name: string) => `Return it from net: { loss, outputs, ${name} }`,
} as const

interface Guarded {
  readonly what: keyof typeof DECLARE
  /** What may be asked for, also where it has no value. @default the names of the values */
  readonly known?: readonly string[] | undefined
  /** What the values lie in: `optimizer.` */
  readonly path?: string | undefined
}

export function guard<T extends object>(values: T, { what, known = Object.keys(values), path = '' }: Guarded): T {
  return new Proxy(values, {
    get(own, name) {
      if (typeof name === 'symbol' || name in own || known.includes(name) || ASKED_OF_ANY_OBJECT.has(name))
        return Reflect.get(own, name)
      throw unknownName(name, { what, known, path })
    },
  })
}

/** Hyper-parameters, and groups of them, that are declared key by key. */
export function guardHyper(values: unknown, schema: z.ZodType | undefined, path = ''): unknown {
  const shape = schema && shapeOf(schema)
  if (!shape || typeof values !== 'object' || values === null) return values
  const inner = Object.entries(values).map(([key, value]) => [key, guardHyper(value, shape[key], `${path}${key}.`)])
  return guard(Object.fromEntries(inner), { what: 'hyper-parameter', known: Object.keys(shape), path })
}

/** By whoever awaits, prints or compares it. */
const ASKED_OF_ANY_OBJECT: ReadonlySet<string> = new Set(['then', 'toJSON', 'inspect', 'asymmetricMatch'])

type Shape = Readonly<Record<string, z.ZodType>>

/** The keys of an object that has no others, under whatever default it has. */
function shapeOf(schema: z.ZodType): Shape | undefined {
  const { innerType, catchall, shape } = schema.def as {
    innerType?: z.ZodType
    catchall?: z.ZodType
    shape?: Shape
  }
  if (innerType) return shapeOf(innerType)
  return catchall === undefined || catchall.def.type === 'never' ? shape : undefined
}

function unknownName(name: string, { what, known, path }: Required<Guarded>): UserError {
  const guess = suggest(name, known!)
  const place = userPlace(new Error().stack)
  const names = known!.map((own) => `${path}${own}`).join(', ') || 'none'
  return new UserError(`there is no ${what} "${path}${name}"; ${what}s: ${names}`, {
    code: 'MODEL_NAME',
    where: place && { ...place, file: shown(place.file) },
    hint: guess ? `Did you mean ${path}${guess}?` : DECLARE[what](name, path!),
  })
}
