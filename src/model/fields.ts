/** @file The fields that defineModel takes, and what is said about one that does not fit. */
import type { z } from 'zod'
import { suggest, UserError, type Where } from '../base/util/index.ts'
import type { ModelFields } from './define.ts'
import { placeOfField } from './place.ts'

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isFunction = (value: unknown) => typeof value === 'function'
export const isSchema = (value: unknown): value is z.ZodType => isObject(value) && '_zod' in value

const FIELDS: Readonly<Record<keyof ModelFields<never, never, never>, Field>> = {
  hyperParameters: {
    optional: true,
    expected: 'keys with zod types, { fc_sizes: z.array(z.int()) }, or a whole zod schema',
    fits: (value) => isSchema(value) || (isObject(value) && Object.values(value).every(isSchema)),
  },
  inputs: {
    expected: "a function ({ label, sparse, dense }, hyper, run) => ({ click: label('click') })",
    fits: isFunction,
  },
  net: { expected: 'a function (inputs, hyper, run) { return { loss, outputs } }', fits: isFunction },
  metrics: {
    optional: true,
    expected: 'a function (result, inputs, hyper, run) => ({ auc: metric.auc(result.outputs.predict, inputs.click) })',
    fits: isFunction,
  },
  optimizer: {
    expected: 'optimizer.adam({ learningRate: 0.001 }), or a function (hyper, run) that returns one',
    fits: (value) => isFunction(value) || isObject(value),
  },
}

interface Field {
  readonly expected: string
  readonly optional?: boolean
  readonly fits: (value: unknown) => boolean
}

export function checkFields(fields: unknown, place: Where | undefined): void {
  const names = Object.keys(FIELDS)
  if (!isObject(fields))
    throw wrong(`expected an object with ${names.join(', ')}, got ${named(fields)}`, EXAMPLE, place)
  for (const name of Object.keys(fields)) {
    if (names.includes(name)) continue
    const guess = suggest(name, names)
    const hint = guess ? `Did you mean ${guess}?` : `The fields are ${names.join(', ')}.`
    throw wrong(`there is no field "${name}"`, hint, placeOfField(place, name))
  }
  for (const [name, { expected, optional, fits }] of Object.entries(FIELDS)) {
    const value = (fields as Readonly<Record<string, unknown>>)[name]
    if (fits(value) || (optional && value === undefined)) continue
    const got = value === undefined ? 'nothing' : named(name === 'hyperParameters' ? stranger(value) : value)
    throw wrong(`${name}: expected ${expected}; got ${got}`, EXAMPLE, placeOfField(place, name))
  }
}

export const EXAMPLE =
  'export default defineModel({ hyperParameters, inputs, net, metrics, optimizer }), as in models/rank/dnn/model.ts'

function wrong(message: string, hint: string, where: Where | undefined): UserError {
  return new UserError(`defineModel: ${message}`, { code: 'MODEL_FIELD', where, hint })
}

/** The key that is no zod type, where one is. */
function stranger(value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, own]) => !isSchema(own)))
}

function named(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (isObject(value))
    return `{ ${Object.entries(value)
      .map(([key, own]) => `${key}: ${named(own)}`)
      .join(', ')} }`
  if (typeof value === 'function') return `the function ${value.name || 'without a name'}`
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
