/** @file What the text kernel makes of raw values, as plain data and as records in its memory: the classes of assembly/text-encode.ts. */

/** One entry for each slot of the output; raw slots are counted among those of their kind, the sparse or the dense ones. */
export interface TextEncoding {
  readonly sparse: readonly SignSource[]
  readonly dense: readonly ValueSource[]
}

/** Where a hash starts, both halves of it, and below which number it ends. */
interface Hashing {
  readonly begun: { readonly a: number; readonly b: number }
  readonly buckets: number
}

export type SignSource =
  | { readonly kind: 'copy'; readonly from: number }
  | ({ readonly kind: 'hash'; readonly from: number } & Hashing)
  | { readonly kind: 'vocabulary'; readonly from: number; readonly places: ReadonlyMap<bigint, number> }
  | { readonly kind: 'bucketise'; readonly from: number; readonly boundaries: readonly number[] }
  /** The same of the first value of a dense slot. */
  | { readonly kind: 'number'; readonly from: number; readonly boundaries: readonly number[] }
  /** Of other slots of the output. */
  | ({ readonly kind: 'cross'; readonly of: readonly number[] } & Hashing)

export interface ValueSource {
  /** Of which kind the raw slot is. */
  readonly kind: 'sparse' | 'dense'
  readonly from: number
  readonly width: number
  readonly dtype: 'float32' | 'int64'
  readonly isLog: boolean
}

/** A dense column in the kernel's memory. */
export interface DenseColumn {
  readonly at: number
  readonly width: number
  readonly dtype: 'float32' | 'int64'
}

/** Reserves so many bytes and returns where they are. */
type Take = (bytes: number) => number

const KINDS = { copy: 0, hash: 1, vocabulary: 2, bucketise: 3, number: 4, cross: 5 } as const
const FILLS = { same: 0, sparse: 1, dense: 2 } as const
const HEAD_BYTES = 56
const MOVE_BYTES = 12
const OP_BYTES = 56
const FILL_BYTES = 32
const PAIR_BYTES = 16

export interface PlacedEncoding {
  /** The record of it all. */
  readonly at: number
  /** Signs by which the raw ones of a line stand behind the place of what is made of them. */
  readonly shift: number
  readonly dense: readonly DenseColumn[]
  write(buffer: ArrayBuffer): void
}

/** Places for `encoding` of samples whose raw slots are given: `rawSparse` sparse ones and the dense columns. */
export function placeEncoding(
  encoding: TextEncoding,
  raw: { readonly sparse: number; readonly dense: readonly DenseColumn[]; readonly samples: number },
  take: Take,
): PlacedEncoding {
  const ops = opsOf(encoding.sparse).map((op) => ({ ...op, data: take(dataBytes(op.source)) }))
  const crosses = ops.filter(({ source }) => source.kind === 'cross').length
  const shift = shiftOf(ops)
  // Not where raw signs reach into the next line's.
  const inPlace = raw.sparse + shift <= encoding.sparse.length && isInPlace(encoding.sparse, shift)
  const moves = movesOf(encoding.sparse, inPlace ? shift : undefined)
  const fills = fillsOf(encoding.dense, raw, take)
  const hasIds = fills.some(({ kind }) => kind === 'sparse')
  const slots = encoding.sparse.length
  const offsets = (count: number) => take((count + 1) * 4)
  const list = (count: number, bytes: number) => {
    const from = take(count * bytes)
    return { from, end: from + count * bytes, at: (i: number) => from + i * bytes }
  }
  const at = take(HEAD_BYTES)
  const records = {
    moves: list(moves.length, MOVE_BYTES),
    ops: list(ops.length, OP_BYTES),
    fills: list(fills.length, FILL_BYTES),
  }
  const lines = [offsets(raw.sparse), offsets(slots), offsets(Math.max(raw.sparse, slots))] as const
  return {
    at,
    shift: inPlace ? shift : 0,
    dense: fills.map(({ target }) => target),
    write: (buffer) => {
      const { moves: moved, ops: made, fills: filled } = records
      const ranges = [
        moved.from,
        moved.end,
        made.from,
        made.at(ops.length - crosses),
        made.end,
        filled.from,
        filled.end,
      ]
      const flags = [Number(hasIds), Number(hasIds || !inPlace)]
      new Uint32Array(buffer, at, HEAD_BYTES / 4).set([slots, Number(inPlace), ...ranges, ...lines, ...flags])
      new Uint32Array(buffer, lines[2], Math.max(raw.sparse, slots) + 1).forEach((_, i, ones) => {
        ones[i] = 8 * i
      })
      new Uint32Array(buffer, moved.from, 3 * moves.length).set(moves.flat())
      for (const [i, op] of ops.entries()) writeOp(buffer, made.at(i), op, raw.dense)
      for (const [i, fill] of fills.entries()) writeFill(buffer, filled.at(i), fill, raw.dense)
    },
  }
}

interface Op {
  readonly source: SignSource
  readonly place: number
  /** Slots that are copied at once. */
  readonly run: number
}

/** Crosses behind what they are made of; raw slots that follow each other in both are one op. */
function opsOf(sources: readonly SignSource[]): readonly Op[] {
  const ops: { source: SignSource; place: number; run: number }[] = []
  for (const [place, source] of sources.entries()) {
    const last = ops.at(-1)
    if (last?.source.kind === 'copy' && source.kind === 'copy' && last.source.from + last.run === source.from)
      last.run++
    else ops.push({ source, place, run: 1 })
  }
  const isCross = ({ source }: Op) => source.kind === 'cross'
  return [...ops.filter((op) => !isCross(op)), ...ops.filter(isCross)]
}

/** So that the longest run of raw slots is where it belongs. */
function shiftOf(ops: readonly Op[]): number {
  const copies = ops.flatMap(({ source, place, run }) =>
    source.kind === 'copy' && place >= source.from ? [{ run, shift: place - source.from }] : [],
  )
  return copies.reduce((best, one) => (one.run > best.run ? one : best), { run: 0, shift: 0 }).shift
}

/** Raw slots, how many, and where they go: all but those that are there, unless they are in a copy. */
function movesOf(sources: readonly SignSource[], shift: number | undefined): readonly (readonly number[])[] {
  const ids = sources.map((source): SignSource => {
    return source.kind === 'number' || source.kind === 'cross' ? source : { kind: 'copy', from: source.from }
  })
  return opsOf(ids).flatMap(({ source, run, place }) =>
    source.kind === 'copy' && source.from + (shift ?? Number.NaN) !== place ? [[source.from, run, place]] : [],
  )
}

/** Whether no raw sign is written over before it is read; crosses are made, and numbers put into buckets, when all are. */
function isInPlace(sources: readonly SignSource[], shift: number): boolean {
  const written = new Set<number>()
  return sources.every((source, place) => {
    if (source.kind === 'cross' || source.kind === 'number') return true
    const isLost = written.has(source.from + shift)
    written.add(place)
    return !isLost
  })
}

/** At most half of the table is used. */
const tableSize = (words: number) => 2 ** Math.ceil(Math.log2(2 * words + 2))

const boundariesOf = (source: SignSource) =>
  source.kind === 'bucketise' || source.kind === 'number' ? source.boundaries : undefined
const hashingOf = (source: SignSource): Hashing | undefined =>
  source.kind === 'hash' || source.kind === 'cross' ? source : undefined

function dataBytes(source: SignSource): number {
  const boundaries = boundariesOf(source)
  if (boundaries) return boundaries.length * 12 // as float64, and behind them as float32
  if (source.kind === 'cross') return source.of.length * 4
  return source.kind === 'vocabulary' ? tableSize(source.places.size) * PAIR_BYTES : 0
}

function writeOp(
  buffer: ArrayBuffer,
  at: number,
  { source, place, run, data }: Op & { readonly data: number },
  columns: readonly DenseColumn[],
): void {
  const column = source.kind === 'number' ? columns[source.from]! : undefined
  const from = column ? column.at : source.kind === 'cross' ? 0 : source.from
  const [boundaries, hashing] = [boundariesOf(source), hashingOf(source)]
  const list = source.kind === 'cross' ? source.of : boundaries
  const isFloat = column?.dtype === 'float32'
  const [a, b] = column
    ? [column.width * (isFloat ? 4 : 8), Number(isFloat)]
    : [hashing?.begun.a ?? 0, hashing?.begun.b ?? 0]
  const mask = source.kind === 'vocabulary' ? tableSize(source.places.size) - 1 : 0
  const words = [KINDS[source.kind], from, list?.length ?? run, place, data, a, b, mask]
  new Uint32Array(buffer, at, words.length).set(words)
  if (hashing) {
    new BigUint64Array(buffer, at + 32, 1)[0] = BigInt(hashing.buckets)
    new Float64Array(buffer, at + 40, 1)[0] = 1 / hashing.buckets
  }
  if (boundaries) {
    const thresholds = data + 8 * boundaries.length
    new Float64Array(buffer, data, boundaries.length).set(boundaries)
    new Float32Array(buffer, thresholds, boundaries.length).set(boundaries.map(nextFloat))
    new Uint32Array(buffer, at + 48, 1)[0] = thresholds
  }
  if (source.kind === 'cross') new Uint32Array(buffer, data, source.of.length).set(source.of)
  if (source.kind === 'vocabulary') writePlaces(new BigUint64Array(buffer, data, 2 * (mask + 1)), source.places)
}

/** The first float32 that is not below a number. */
function nextFloat(value: number): number {
  const near = Float32Array.of(value)
  if (near[0]! >= value) return near[0]!
  const bits = new Int32Array(near.buffer)
  bits[0] = near[0] === 0 ? 1 : bits[0]! + (near[0]! > 0 ? 1 : -1)
  return near[0]!
}

/** Pairs of id and place; a place of 0 is free. */
function writePlaces(table: BigUint64Array, places: ReadonlyMap<bigint, number>): void {
  const mask = table.length / 2 - 1
  for (const [id, place] of places) {
    let at = hashOfId(id) & mask
    while (table[2 * at + 1] !== 0n) at = (at + 1) & mask
    table[2 * at] = id
    table[2 * at + 1] = BigInt(place)
  }
}

/** As in assembly/text-encode.ts. */
function hashOfId(id: bigint): number {
  const [low, high] = [Number(id & 0xffffffffn), Number(id >> 32n)]
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1)
  return (hash ^ (hash >>> 15)) >>> 0
}

interface Fill extends ValueSource {
  readonly target: DenseColumn
}

/** A raw column is its slot's own where it has the same form, unless another slot already has it. */
function fillsOf(
  sources: readonly ValueSource[],
  raw: { readonly dense: readonly DenseColumn[]; readonly samples: number },
  take: Take,
): readonly Fill[] {
  const taken = new Set<DenseColumn>()
  return sources.map((source) => {
    const { width, dtype } = source
    const own = source.kind === 'dense' ? raw.dense[source.from]! : undefined
    if (own && own.width === width && own.dtype === dtype && !taken.has(own)) {
      taken.add(own)
      return { ...source, target: own }
    }
    return { ...source, target: { at: take(raw.samples * width * 8 + 16), width, dtype } }
  })
}

function writeFill(buffer: ArrayBuffer, at: number, fill: Fill, columns: readonly DenseColumn[]): void {
  const { target, width, dtype, isLog } = fill
  const column = fill.kind === 'dense' ? columns[fill.from]! : undefined
  const kind = column?.at === target.at ? 'same' : fill.kind
  const from = column ? [column.at, column.width, Number(column.dtype === 'float32')] : [fill.from, 0, 0]
  const words = [FILLS[kind], ...from, target.at, width, Number(dtype === 'float32'), Number(isLog)]
  new Uint32Array(buffer, at, words.length).set(words)
}
