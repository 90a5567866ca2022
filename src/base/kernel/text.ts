/** @file Binding of the text kernel: one thread's parser over a private memory that holds the text and the parsed columns. */
import { readFileSync } from 'node:fs'
import { packageFile } from '../util/index.ts'
import { pagesFor } from './load.ts'
import { layOutText, STATE, type TextLayout, type TextRules, type TextSlot } from './text-layout.ts'

export const TEXT_FORMATS = ['slot', 'multislot'] as const
export type TextFormat = (typeof TEXT_FORMATS)[number]

export type { SignSource, TextEncoding, ValueSource } from './text-encoding.ts'
export type { TextSlot } from './text-layout.ts'

/** What can be wrong with a line, in the order of the kernel's error codes (from 1). */
export const TEXT_ERRORS = [
  'noColon',
  'notSign',
  'notFloat',
  'notInteger',
  'wrongWidth',
  'badCount',
  'tooShort',
  'tooLong',
] as const
/** `crossed` is found where room is made, not by the kernel. */
export type TextErrorKind = (typeof TEXT_ERRORS)[number] | 'crossed'

export interface TextError {
  readonly kind: TextErrorKind
  /** Byte offset in the text area of what is wrong. */
  readonly position: number
  /** The slot concerned, by declaration order (0 where none is). */
  readonly slot: number
  /** Values found, for wrongWidth and tooShort. */
  readonly count: number
}

/**
 * How far a call came: all lines ('done'), until the columns were full, or up to a bad line. `position` is the first byte not
 * parsed (the start of the bad line); columns hold `samples` samples with `signs` signs; `lines` lines were passed.
 */
export interface TextResult {
  readonly status: 'done' | 'full' | 'bad'
  readonly samples: number
  readonly signs: number
  readonly lines: number
  /** Bad lines among them, with skipBad. */
  readonly skipped: number
  readonly position: number
  readonly error?: TextError
}

export interface TextParser {
  readonly capacity: number
  /** Where text goes: `capacity` bytes. */
  readonly text: Uint8Array<ArrayBuffer>
  /** Columns of the last call, overwritten by the next: see ParsedChunk in data/batch.ts for their meaning. */
  readonly counts: Uint32Array<ArrayBuffer>
  readonly starts: Uint32Array<ArrayBuffer>
  readonly signs: BigUint64Array<ArrayBuffer>
  readonly dense: readonly (Float32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>)[]
  /** Parses the lines in [from, to) of the text area, each ended by a newline. */
  parse(format: TextFormat, from: number, to: number): TextResult
  /** A checksum of [from, to) of the text area that goes on from `seed`, the checksum of what was before. */
  checksum(from: number, to: number, seed: number): number
  /** Names of slots in the text that are not declared, each given once. */
  takeIgnored(): string[]
}

interface TextExports {
  heapBase(): number
  configure(state: number): void
  parseSlotText(from: number, to: number): number
  parseMultiSlotText(from: number, to: number): number
  checksum(from: number, to: number, seed: number): number
}

/** What the kernel's own constants may take at the start of memory. */
const STATIC_BYTES = 8 * 1024

/** Signs of one line or request with its crosses: 128 MB of them, more than any model trains on. */
export const MOST_CROSSED = 2 ** 24

/** A parser for `capacity` bytes of text at a time: also the longest line it can hold. `skipBad` counts bad lines and goes on. */
export function createTextParser(slots: readonly TextSlot[], capacity: number, rules: TextRules = {}): TextParser {
  const layout = layOutText(slots, capacity, rules, STATIC_BYTES)
  const memory = new WebAssembly.Memory({ initial: pagesFor(layout.end) })
  const kernel = instantiate(memory)
  if (kernel.heapBase() > STATIC_BYTES)
    throw new Error(`internal: the text kernel has ${kernel.heapBase()} static bytes`)
  layout.write(memory.buffer as ArrayBuffer)
  kernel.configure(layout.state)
  const parseWith = { slot: kernel.parseSlotText, multislot: kernel.parseMultiSlotText }
  let views = viewsOf(memory, layout, layout.maxSigns)
  let ignoredTaken = 0
  const parse: TextParser['parse'] = (format, from, to) => {
    const status = parseWith[format](layout.text + from, layout.text + to)
    const result = readResult(views.state, status, layout.text)
    if (result.status !== 'full' || result.samples > 0) return result
    // A raw line always fits; one whose slots are crossed may not.
    const wanted = field(views.state, 'wanted')
    if (wanted > MOST_CROSSED)
      return { ...result, status: 'bad', error: { kind: 'crossed', position: result.position, slot: 0, count: wanted } }
    views = withRoom(memory, layout, wanted)
    return parse(format, from, to)
  }
  return {
    capacity,
    get text() {
      return views.text
    },
    get counts() {
      return views.counts
    },
    get starts() {
      return views.starts
    },
    get signs() {
      return views.signs
    },
    get dense() {
      return views.dense
    },
    parse,
    checksum: (from, to, seed) => kernel.checksum(layout.text + from, layout.text + to, seed) >>> 0,
    takeIgnored: () => {
      const found = field(views.state, 'ignored')
      const { buffer } = views.text
      const names = Array.from({ length: found - ignoredTaken }, (_, i) => layout.ignoredName(buffer, ignoredTaken + i))
      ignoredTaken = found
      return names
    },
  }
}

/** Makes room for twice the signs that a line makes, so that others like it fit too. */
function withRoom(memory: WebAssembly.Memory, layout: TextLayout, wanted: number): Views {
  const signs = Math.min(2 * wanted, MOST_CROSSED)
  memory.grow(pagesFor(layout.signs + 8 * signs) - pagesFor(memory.buffer.byteLength))
  const views = viewsOf(memory, layout, signs)
  views.state[STATE.indexOf('maxSigns')] = signs
  return views
}

function instantiate(memory: WebAssembly.Memory): TextExports {
  const module = new WebAssembly.Module(readFileSync(packageFile('dist/wasm/text.wasm')))
  const decimal = (at: number, length: number) => Number(Buffer.from(memory.buffer, at, length).toString('latin1'))
  return new WebAssembly.Instance(module, { env: { memory, decimal } }).exports as unknown as TextExports
}

type Views = ReturnType<typeof viewsOf>

function viewsOf(memory: WebAssembly.Memory, layout: TextLayout, maxSigns: number) {
  const buffer = memory.buffer as ArrayBuffer
  return {
    state: new Uint32Array(buffer, layout.state, STATE.length),
    text: new Uint8Array(buffer, layout.text, layout.capacity),
    counts: new Uint32Array(buffer, layout.counts, layout.maxSamples * layout.outSlots),
    starts: new Uint32Array(buffer, layout.starts, layout.maxSamples + 1),
    signs: new BigUint64Array(buffer, layout.signs, maxSigns),
    dense: layout.dense.map(({ at, width, dtype }) =>
      dtype === 'float32'
        ? new Float32Array(buffer, at, layout.maxSamples * width)
        : new BigInt64Array(buffer, at, layout.maxSamples * width),
    ),
  }
}

function readResult(state: Uint32Array, status: number, base: number): TextResult {
  const result = {
    samples: field(state, 'samples'),
    signs: field(state, 'signs'),
    lines: field(state, 'lines'),
    skipped: field(state, 'skipped'),
    position: field(state, 'position') - base,
  }
  if (status !== 2) return { status: status === 0 ? 'done' : 'full', ...result }
  const error = {
    kind: TEXT_ERRORS[field(state, 'errorCode') - 1]!,
    position: field(state, 'errorPosition') - base,
    slot: field(state, 'errorSlot'),
    count: field(state, 'errorCount'),
  }
  return { status: 'bad', ...result, error }
}

function field(state: Uint32Array, name: (typeof STATE)[number]): number {
  return state[STATE.indexOf(name)]!
}
