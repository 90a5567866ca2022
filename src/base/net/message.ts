/** @file What a message of another process may be: readers that take nothing but what they describe. Each names the place of what is wrong. */
import { printable } from '../util/index.ts'
import { peerLost } from './errors.ts'

/** The other side said what it may not say: its connection is closed, and this is for the own log only. */
export class BadMessage extends Error {
  override readonly name = 'BadMessage'
}

/** Returns what a value is, freshly made of what was checked; throws BadMessage with the place in the message. */
export type Reader<T> = (value: unknown, at: string) => T

/** A body of JSON, as `read` describes it. */
export function readJson<T>(body: Uint8Array, what: string, read: Reader<T>): T {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch {
    throw new BadMessage(`${what} is not JSON`)
  }
  return read(value, what)
}

/** What does not hold is the other side's fault. */
export function checkMessage(holds: boolean, what: string): asserts holds {
  if (!holds) throw new BadMessage(what)
}

/** A whole number from `min` to `max`. */
export const whole =
  (min: number, max: number): Reader<number> =>
  (value, at) => {
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
    throw wrong(at, `a whole number from ${min} to ${max}`, value)
  }

/** Any number; null stands for those that JSON has no word for. */
export const number: Reader<number> = (value, at) => {
  if (value === null) return Number.NaN
  if (typeof value === 'number') return value
  throw wrong(at, 'a number', value)
}

/** A text of at most so many characters, of a form where one is given. */
export const text =
  (maxLength: number, form?: RegExp): Reader<string> =>
  (value, at) => {
    if (typeof value === 'string' && value.length <= maxLength && (!form || form.test(value))) return value
    throw wrong(at, `a text of at most ${maxLength} characters${form ? ` like ${form}` : ''}`, value)
  }

export const truth: Reader<boolean> = (value, at) => {
  if (typeof value === 'boolean') return value
  throw wrong(at, 'true or false', value)
}

export const oneOf =
  <const T extends string>(names: readonly T[]): Reader<T> =>
  (value, at) => {
    if (names.includes(value as T)) return value as T
    throw wrong(at, names.join(' | '), value)
  }

/** What is brought together from several: theirs is the fault that is named. */
export function readBrought<T>(who: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BadMessage)) throw error
    throw peerLost(who, `it brought what it may not bring (${printable(error.message)})`)
  }
}

/** Content that the receiver hands on and does not look into. */
export const anything: Reader<unknown> = (value) => value

/** Null stands for nothing, as JSON has no other word. */
export const nullable =
  <T>(of: Reader<T>): Reader<T | null> =>
  (value, at) =>
    value === null ? null : of(value, at)

export const optional =
  <T>(of: Reader<T>): Reader<T | undefined> =>
  (value, at) =>
    value === undefined ? undefined : of(value, at)

export const list =
  <T>(of: Reader<T>, maxLength: number): Reader<readonly T[]> =>
  (value, at) => {
    if (!Array.isArray(value) || value.length > maxLength) throw wrong(at, `a list of at most ${maxLength}`, value)
    return value.map((entry, i) => of(entry, `${at}[${i}]`))
  }

/** Any names, each with a value; at most so many. */
export const record =
  <T>(of: Reader<T>, maxEntries: number): Reader<Readonly<Record<string, T>>> =>
  (value, at) => {
    const entries = Object.entries(plainObject(value, at))
    if (entries.length > maxEntries) throw wrong(at, `at most ${maxEntries} entries`, value)
    return Object.fromEntries(entries.map(([name, entry]) => [name, of(entry, `${at}.${name.slice(0, 80)}`)]))
  }

/** These fields and no others; those that may lack are `optional`. */
export const fields =
  <T extends object>(readers: { readonly [K in keyof T]-?: Reader<T[K]> }): Reader<T> =>
  (value, at) => {
    const given = plainObject(value, at)
    const strange = Object.keys(given).find((name) => !Object.hasOwn(readers, name))
    if (strange !== undefined) throw new BadMessage(`${at}: it has no ${strange.slice(0, 80)}`)
    const named = Object.entries(readers) as [string, Reader<unknown>][]
    return Object.fromEntries(
      named.map(([name, read]) => [name, read(Object.hasOwn(given, name) ? given[name] : undefined, `${at}.${name}`)]),
    ) as T
  }

/** One of several forms, told apart by a field. */
export const byKind =
  <T extends { readonly kind: string }>(forms: { readonly [K in T['kind']]: Reader<Extract<T, { kind: K }>> }) =>
  (value: unknown, at: string): T => {
    const { kind } = plainObject(value, at)
    const names = Object.keys(forms) as T['kind'][]
    return forms[oneOf(names)(kind, `${at}.kind`)](value, at)
  }

function plainObject(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw wrong(at, 'an object', value)
}

const MOST_SHOWN = 80

function wrong(at: string, expected: string, value: unknown): BadMessage {
  return new BadMessage(`${at}: expected ${expected}, got ${shown(value)}`)
}

/** Of a large value its size: written out, a message of many wrong parts would be written out for each of them. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MOST_SHOWN)).slice(0, MOST_SHOWN)
  return JSON.stringify(value) ?? 'nothing'
}
