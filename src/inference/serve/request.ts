/** @file From a body to samples: JSON instances or text, checked slot by slot. Runs where samples are scored. */

import { isUserError, suggest } from '../../base/util/index.ts'
import { type Columns, createColumnWriter, createTextBlockParser, formatOf, type Sample } from '../../data/index.ts'
import { type ExportSlot, type Field, fieldsOf } from '../export/index.ts'
import { badText, missingSlot, noSamples, notInstances, notJson, wrongValue } from './errors.ts'
import type { BodyKind, ScoreRequest } from './messages.ts'

/** The samples of a request, and names in it that no slot goes by. */
export interface ParsedRequest {
  readonly columns: Columns
  readonly ignored: readonly string[]
}

export type RequestParser = (request: ScoreRequest) => ParsedRequest

/** Throws a UserError that says what is wrong and where. */
export function createRequestParser(slots: readonly ExportSlot[], fillMissing: boolean): RequestParser {
  const parsers = { json: jsonParser(slots, fillMissing), text: textParser(slots, fillMissing) } satisfies Record<
    BodyKind,
    (body: Uint8Array) => ParsedRequest
  >
  return ({ kind, body }) => {
    const parsed = parsers[kind](body)
    if (parsed.columns.samples === 0) throw noSamples()
    return parsed
  }
}

function jsonParser(slots: readonly ExportSlot[], fillMissing: boolean) {
  const fields = fieldsOf(slots)
  const needed = fields.filter((field) => field.needed)
  const known = new Set(fields.map(({ name }) => name))
  return (body: Uint8Array): ParsedRequest => {
    const writer = createColumnWriter(slots)
    const ignored = new Set<string>()
    for (const [i, instance] of instancesIn(body).entries()) {
      const place = `instance ${i + 1}`
      if (isRecord(instance)) addUnknown(ignored, Object.keys(instance), known)
      try {
        writer.add(pickSlots(instance, needed, place, fillMissing) as Sample)
      } catch (error) {
        throw isUserError(error) && !error.code.startsWith('SERVE_') ? wrongValue(place, error.message) : error
      }
    }
    return { columns: crossed(() => writer.take().columns), ignored: [...ignored] }
  }
}

/** Crosses are made of all at once. */
function crossed(take: () => Columns): Columns {
  try {
    return take()
  } catch (error) {
    throw isUserError(error) ? wrongValue('the instances', error.message) : error
  }
}

function instancesIn(body: Uint8Array): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw notJson((error as Error).message.slice(0, 200))
  }
  const list = isRecord(value) ? value['instances'] : value
  if (Array.isArray(list)) return list
  throw notInstances(isRecord(value) ? `an object with ${keysText(value)}` : `${typeof value}`)
}

/** Names that an answer tells at most. */
const MOST_IGNORED = 20

function addUnknown(ignored: Set<string>, names: Iterable<string>, known: ReadonlySet<string>): void {
  for (const name of names) if (!known.has(name) && ignored.size < MOST_IGNORED) ignored.add(name.slice(0, 100))
}

/** The slots that are needed; what else an instance has is left alone. */
function pickSlots(instance: unknown, needed: readonly Field[], place: string, fillMissing: boolean) {
  if (!isRecord(instance)) throw wrongValue(place, 'expected an object with a list of values by slot')
  const picked: Record<string, unknown> = {}
  for (const { name, filling } of needed) {
    if (!Object.hasOwn(instance, name)) {
      if (fillMissing) continue
      const others = Object.keys(instance).filter((key) => !needed.some((other) => other.name === key))
      throw missingSlot(place, name, JSON.stringify({ [name]: filling }), suggest(name, others))
    }
    const value = instance[name]
    const list = Array.isArray(value) ? value : [value]
    const wrong = list.find((item) => typeof item !== 'number' && typeof item !== 'string')
    if (wrong !== undefined || list.includes(undefined) || list.length === 0) {
      const found =
        list.length === 0 ? 'an empty list' : Array.isArray(wrong) ? 'a list in a list' : String(typeOf(wrong))
      throw wrongValue(place, `slot "${name}": expected numbers, or ids as text, found ${found}`)
    }
    picked[name] = list
  }
  return picked
}

function textParser(slots: readonly ExportSlot[], fillMissing: boolean) {
  const parse = createTextBlockParser(slots)
  const fields = fieldsOf(slots)
  const needed = fields.filter((field) => field.needed)
  const known = new Set(fields.map(({ name }) => name))
  return (body: Uint8Array): ParsedRequest => {
    const format = formatOf(body)
    let columns: Columns
    try {
      columns = parse({ text: body, format, file: 'line' })
    } catch (error) {
      if (!isUserError(error)) throw error
      const { line = 1, column = 1 } = error.where ?? {}
      throw badText(`line ${line}, column ${column}: ${error.message}`)
    }
    // MultiSlot text goes by position: there nothing can be missing.
    const ignored = format === 'slot' ? checkLines(body, fillMissing ? [] : needed, known) : []
    return { columns, ignored }
  }
}

function checkLines(body: Uint8Array, needed: readonly Field[], known: ReadonlySet<string>): readonly string[] {
  const ignored = new Set<string>()
  for (const [i, line] of new TextDecoder().decode(body).split('\n').entries()) {
    if (line.trim() === '') continue
    const names = new Set(line.split(/\s+/).map((token) => token.slice(0, token.indexOf(':'))))
    addUnknown(ignored, names, known)
    const missing = needed.find(({ name }) => !names.has(name))
    if (!missing) continue
    const others = [...names].filter((name) => !needed.some((slot) => slot.name === name))
    const filler = missing.filling.map((value) => `${missing.name}:${value}`)
    throw missingSlot(`line ${i + 1}`, missing.name, filler.join(' '), suggest(missing.name, others))
  }
  return [...ignored]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function keysText(value: Record<string, unknown>): string {
  const keys = Object.keys(value).slice(0, 5)
  return keys.length === 0 ? 'no keys' : `the keys ${keys.map((key) => JSON.stringify(key.slice(0, 40))).join(', ')}`
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}
