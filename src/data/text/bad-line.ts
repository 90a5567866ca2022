/** @file What a person reads about a line that cannot be parsed. */
import { MOST_CROSSED, type TextError, type TextErrorKind, type TextFormat } from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { CROSS_LESS } from '../features/columns.ts'
import { looksLike } from './head.ts'

export interface BadLine {
  readonly file: string
  /** Counted from 1 over the whole file. */
  readonly line: number
  /** The line's bytes, without its newline. */
  readonly bytes: Uint8Array
  /** `position` relative to the line. */
  readonly error: TextError
  readonly format: TextFormat
  readonly slots: readonly Slot[]
}

export function badLineError({ file, line, bytes, error, format, slots }: BadLine): UserError {
  const decoder = new TextDecoder()
  const column = decoder.decode(bytes.subarray(0, error.position)).length + 1
  const rest = decoder.decode(bytes.subarray(error.position, error.position + 200))
  const slot = slots[error.slot]!
  const message = MESSAGES[error.kind]({
    found: shorten(/^\S*/.exec(rest)![0]),
    rest: shorten(rest.trimEnd()),
    slot,
    error,
  })
  const other = otherFormat(format, decoder.decode(bytes.subarray(0, 200)))
  return new UserError(message, {
    code: 'DATA_LINE',
    where: { file, line, column },
    hint:
      error.kind === 'crossed'
        ? CROSS_LESS
        : `${other}Mend the line, or set runner.on_bad_line: skip to count such lines and leave them out.`,
  })
}

interface Found {
  readonly found: string
  readonly rest: string
  readonly slot: Slot
  readonly error: TextError
}

const MESSAGES: Readonly<Record<TextErrorKind, (found: Found) => string>> = {
  noColon: ({ found }) => `Expected slot:value, found ${found}.`,
  notSign: ({ found, slot }) =>
    `Slot "${slot.name}": expected a feature sign, a whole number from 0 to 18446744073709551615, found ${found}.`,
  notInteger: ({ found, slot }) =>
    `Slot "${slot.name}": expected a whole number from -9223372036854775808 to 9223372036854775807, found ${found}.`,
  notFloat: ({ found, slot }) => `Slot "${slot.name}": expected a finite 32-bit number, found ${found}.`,
  wrongWidth: ({ slot, error }) => `Slot "${slot.name}": expected ${valuesOf(widthOf(slot))}, found ${error.count}.`,
  badCount: ({ found, slot, error }) =>
    `Slot ${error.slot + 1} ("${slot.name}"): expected the number of its values, found ${found}. ` +
    'The number of ids can not be zero, you need padding.',
  tooShort: ({ slot, error }) =>
    `The line ends in slot ${error.slot + 1} ("${slot.name}"), after ${valuesOf(error.count)} of it: values are missing.`,
  crossed: () => `The crosses of the model make more than ${MOST_CROSSED} signs of this line.`,
  tooLong: ({ rest }) => `Expected the end of the line after the last slot, found ${rest}.`,
}

function widthOf(slot: Slot): number {
  return slot.kind === 'dense' ? slot.width : 1
}

function valuesOf(count: number): string {
  return count === 1 ? '1 value' : `${count} values`
}

function shorten(text: string): string {
  return text === '' ? 'nothing' : `"${text.length > 40 ? `${text.slice(0, 40)}...` : text}"`
}

/** A word about a file in the other format: then every line of it is bad. */
function otherFormat(format: TextFormat, start: string): string {
  const looks = looksLike(start)
  if (looks === format) return ''
  return looks === 'slot' ? 'This line looks like slot text. ' : 'This line looks like MultiSlot text. '
}
