/** @file From a body to samples: JSON instances or text, checked slot by slot. Runs where samples are scored. */

import { isUserError, suggest } from '../../base/util/index.ts'
import { type Columns, createColumnWriter, createTextBlockParser, formatOf, type Sample } from '../../data/index.ts'
import type { ExportSlot } from '../export/index.ts'
import { badText, missingSlot, noSamples, notInstances, notJson, wrongValue } from './errors.ts'
import type { BodyKind, ScoreRequest } from './messages.ts'

export type RequestParser = (request: ScoreRequest) => Columns

/** Throws a UserError that says what is wrong and where. */
export function createRequestParser(slots: readonly ExportSlot[], fillMissing: boolean): RequestParser {
  const parsers = { json: jsonParser(slots, fillMissing), text: textParser(slots, fillMissing) } satisfies Record<
    BodyKind,
    (body: Uint8Array) => Columns
  >
  return ({ kind, body }) => {
    const columns = parsers[kind](body)
    if (columns.samples === 0) throw noSamples()
    return columns
  }
}

function jsonParser(slots: readonly ExportSlot[], fillMissing: boolean) {
  const needed = slots.filter((slot) => slot.needed)
  return (body: Uint8Array): Columns => {
    const writer = createColumnWriter(slots)
    for (const [i, instance] of instancesIn(body).entries()) {
      const place = `instance ${i + 1}`
      try {
        writer.add(pickSlots(instance, needed, place, fillMissing) as Sample)
      } catch (error) {
        throw isUserError(error) && !error.code.startsWith('SERVE_') ? wrongValue(place, error.message) : error
      }
    }
    return writer.take().columns
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

/** The slots that are needed; what else an instance has is left alone. */
function pickSlots(instance: unknown, needed: readonly ExportSlot[], place: string, fillMissing: boolean) {
  if (!isRecord(instance)) throw wrongValue(place, 'expected an object with a list of values by slot')
  const picked: Record<string, unknown> = {}
  for (const slot of needed) {
    const { name } = slot
    if (!Object.hasOwn(instance, name)) {
      if (fillMissing) continue
      const others = Object.keys(instance).filter((key) => !needed.some((other) => other.name === key))
      throw missingSlot(place, name, JSON.stringify({ [name]: filling(slot) }), suggest(name, others))
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
  const needed = slots.filter((slot) => slot.needed)
  return (body: Uint8Array): Columns => {
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
    if (format === 'slot' && !fillMissing) checkLines(body, needed)
    return columns
  }
}

function checkLines(body: Uint8Array, needed: readonly ExportSlot[]): void {
  for (const [i, line] of new TextDecoder().decode(body).split('\n').entries()) {
    if (line.trim() === '') continue
    const names = new Set(line.split(/\s+/).map((token) => token.slice(0, token.indexOf(':'))))
    const missing = needed.find(({ name }) => !names.has(name))
    if (!missing) continue
    const others = [...names].filter((name) => !needed.some((slot) => slot.name === name))
    const filler = filling(missing).map((value) => `${missing.name}:${value}`)
    throw missingSlot(`line ${i + 1}`, missing.name, filler.join(' '), suggest(missing.name, others))
  }
}

/** What training makes of a slot that a sample lacks. */
function filling(slot: ExportSlot): number[] {
  return new Array<number>(slot.kind === 'sparse' ? 1 : slot.width).fill(0)
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
