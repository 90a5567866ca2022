/** @file Samples of a provider as the slots of the reader: checked against the declared types, sparse vectors written out. */

import { UserError } from '../../base/util/index.ts'
import type { Sample, SampleValue } from '../../data/index.ts'
import { type DataLayer, USES } from './config-scope.ts'
import { providerError } from './errors.ts'
import { type InputType, type InputTypes, inputTypeText, type ProvidedSample } from './provider.ts'

/** An input that layers use, and what the provider says of it. */
export interface TypedInput {
  readonly name: string
  readonly type: InputType
  /** Its place in a sample that is a list. */
  readonly place: number
}

/** Every used data layer with its type; what does not fit is named. */
export function typedInputs(layers: readonly DataLayer[], types: InputTypes): readonly TypedInput[] {
  const list = Array.isArray(types) ? (types as readonly InputType[]) : undefined
  if (list && list.length !== layers.length)
    throw providerError(
      `settings.inputTypes has ${list.length} types, and the configuration ${layers.length} data layers: ${layers.map(({ name }) => name).join(', ')}.`,
      'Give one type for each data layer in their order, or name them: settings.inputTypes = { user_id: integerValue(943) }',
    )
  const named = list ? {} : (types as Readonly<Record<string, InputType>>)
  return layers.flatMap((layer, place) => {
    if (layer.use === undefined) return []
    const type = list ? list[place] : named[layer.name]
    if (!type) throw missingType(layer, Object.keys(named))
    checkUse(layer, type)
    return [{ name: layer.name, type, place: list ? place : Object.keys(named).indexOf(layer.name) }]
  })
}

/** A function from what the provider yields to what the reader takes. */
export function sampleReader(inputs: readonly TypedInput[]): (sample: ProvidedSample) => Sample {
  return (sample) => {
    const values: Record<string, SampleValue> = {}
    for (const { name, type, place } of inputs) {
      const value = Array.isArray(sample) ? sample[place] : (sample as Readonly<Record<string, unknown>>)[name]
      if (value === undefined) throw badValue(name, type, 'nothing')
      values[name] = readValue(name, type, value)
    }
    return values
  }
}

function readValue(name: string, type: InputType, value: unknown): SampleValue {
  if (type.kind === 'integer') {
    if (!type.sequence) return idOf(name, type, value)
    if (!isList(value) || value.length === 0) throw badValue(name, type, value)
    return Array.from(value, (id) => idOf(name, type, id))
  }
  if (type.kind === 'dense') {
    const list = isList(value) ? Array.from(value) : [value]
    if (list.length !== type.dim || !list.every((number) => Number.isFinite(number))) throw badValue(name, type, value)
    return list as number[]
  }
  if (!isList(value)) throw badValue(name, type, value)
  const written = new Array<number>(type.dim).fill(0)
  for (const entry of Array.from(value)) {
    const [place, number] = type.kind === 'sparse_binary' ? [entry, 1] : isList(entry) ? [entry[0], entry[1]] : []
    if (typeof number !== 'number' || !Number.isFinite(number)) throw badValue(name, type, value)
    written[idOf(name, type, place)] = number
  }
  return written
}

function idOf(name: string, type: InputType, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < type.dim) return value
  throw badValue(name, type, value)
}

const isList = (value: unknown): value is ArrayLike<unknown> => Array.isArray(value) || ArrayBuffer.isView(value)

const FITS: Readonly<Record<NonNullable<DataLayer['use']>, (type: InputType) => boolean>> = {
  ids: (type) => type.kind === 'integer' && !type.sequence,
  sequence: (type) => type.kind === 'integer' && type.sequence,
  label: (type) => type.kind === 'integer' && !type.sequence,
  dense: (type) => type.kind !== 'integer',
}

function checkUse({ name, size, use }: DataLayer, type: InputType): void {
  if (!FITS[use!](type))
    throw providerError(
      `"${name}" is ${inputTypeText(type)} by the provider, and the layers take it as ${USES[use!]}.`,
      use === 'ids' && type.kind === 'integer'
        ? 'Pool the sequence: textConvPool or poolingLayer over its embedding.'
        : `Declare it in init as what it is used as, or use it otherwise.`,
    )
  if (type.dim !== size)
    throw providerError(
      `"${name}" is ${inputTypeText(type)} by the provider, and its data layer has the size ${size}.`,
      `Write ${size} in settings.inputTypes, or size: ${type.dim} in dataLayer.`,
    )
}

function missingType({ name }: DataLayer, known: readonly string[]): UserError {
  return providerError(
    `The provider declares no type for the data layer "${name}".`,
    known.length > 0 ? `It declares ${known.join(', ')}.` : 'Set settings.inputTypes in init of provider({ init }).',
  )
}

function badValue(name: string, type: InputType, value: unknown): UserError {
  const shown = typeof value === 'string' ? `"${value.slice(0, 40)}"` : JSON.stringify(value)?.slice(0, 60)
  return new UserError(`"${name}" is ${inputTypeText(type)}, and the provider yielded ${shown ?? String(value)}.`, {
    code: 'TRAINER_SAMPLE',
    hint: 'Yield ids below the size, as many numbers as the size says, and a sequence of at least one id.',
  })
}
