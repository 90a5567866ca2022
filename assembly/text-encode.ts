/**
 * @file What features make of raw signs and numbers, a block of samples at a time, while they are in the nearest cache.
 * src/base/kernel/text-encoding.ts lays out the records, src/data/features is the plain version with the same results.
 */
import { logColumn } from "./log"
import { bucketOf, digitKeys, hashOfDigits, step } from "./text-hash"
import { crossRows, hashRows } from "./text-hash-rows"
import { state } from "./text-state"

/** Field order is the interface, here and below. */
@unmanaged
export class Encoding {
  /** Of the output. */
  sparseSlots: u32
  /** Whether the signs of a line with one in each raw slot may be moved to their places where they are, when the block is whole. */
  inPlace: u32
  /** Records of Move. */
  moves: u32
  movesEnd: u32
  /** Records of Op: crosses behind all others, these in the order of their places. */
  ops: u32
  crosses: u32
  opsEnd: u32
  /** Records of Fill. */
  fills: u32
  fillsEnd: u32
  /** Where the signs of each slot begin in a line, in bytes, and where the last ends: of raw slots, and of the output. */
  rawOffsets: u32
  offsets: u32
  /** The same for lines that have one sign in each raw slot: 0, 8, 16... */
  ones: u32
  /** Whether there are fills of ids. */
  hasIds: u32
  /** Whether a line is looked at when it ends, not only in its block. */
  isAtOnce: u32
}

/** Raw slots of a line with one sign in each that go to other places, before anything is made of them. */
@unmanaged
export class Move {
  from: u32
  length: u32
  place: u32
}

/** What makes the signs of one slot; a COPY of several that follow each other in both. */
@unmanaged
export class Op {
  kind: u32
  /** The raw slot; of NUMBER the column. */
  from: u32
  /** Slots of COPY and CROSS, boundaries of BUCKETISE and NUMBER. */
  length: u32
  /** The first slot of the output. */
  place: u32
  /** Boundaries, words of a vocabulary, or the slots that are crossed. */
  data: u32
  /** The hash of the slot's name; of NUMBER the bytes of a sample, and whether they are float32. */
  a: u32
  b: u32
  mask: u32
  buckets: u64
  inverse: f64
  /** Boundaries of NUMBER as float32. */
  thresholds: u32
  /** So that the next record begins at eight bytes. */
  spare: u32
}

export const COPY: u32 = 0
const HASH: u32 = 1
const VOCABULARY: u32 = 2
const BUCKETISE: u32 = 3
export const NUMBER: u32 = 4
const CROSS: u32 = 5

/** What makes the values of one dense slot that are not raw ones in their own column. */
@unmanaged
class Fill {
  kind: u32
  /** The raw slot of IDS, the column of VALUES; SAME has them in the target already. */
  from: u32
  fromWidth: u32
  fromIsFloat: u32
  target: u32
  width: u32
  isFloat: u32
  isLog: u32
}

const IDS: u32 = 1
const VALUES: u32 = 2

export function prepareEncoding(): void {
  digitKeys()
}

/**
 * Samples whose signs are encoded together: near enough to be in the nearest cache still, and enough that the processor works at several
 * at once, where one hash would keep it waiting.
 */
export const BLOCK: u32 = 64
/** Samples of this call that are encoded. */
export let encoded: u32 = 0

export function startEncoding(): void {
  encoded = 0
}

/** Rows of the block that have one sign in each slot, and the numbers of their samples. */
const ROWS = memory.data(256, 16)
const SAMPLES = memory.data(256, 16)

/** What is made of the samples since the last block that have one sign in each slot, and of their numbers. */
export function encodeBlock(): void {
  if (state.encoding == 0) return
  const encoding = changetype<Encoding>(state.encoding)
  const end: usize = ROWS + listRows(encoding.sparseSlots) * 4
  if (encoding.inPlace != 0) moveRows(encoding, end)
  for (let at: usize = encoding.ops; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    if (changetype<Op>(at).kind != COPY) encodeSlot(changetype<Op>(at), end)
  }
  encodeColumns(encoding)
  encoded = state.samples
}

function listRows(slots: u32): u32 {
  let rows: u32 = 0
  for (let i = encoded; i < state.samples; ++i) {
    const start = load<u32>(state.starts + i * 4)
    store<u32>(ROWS + rows * 4, state.signData + start * 8)
    store<u32>(SAMPLES + rows * 4, i)
    rows += u32(load<u32>(state.starts + i * 4, 4) - start == slots)
  }
  return rows
}

function moveRows(encoding: Encoding, end: usize): void {
  const shift = state.shift
  for (let at: usize = ROWS; at < end; at += 4) {
    const row: usize = load<u32>(at)
    moveSigns(encoding, row + shift, row)
  }
}

// @ts-ignore: decorator
@inline
export function moveSigns(encoding: Encoding, raw: usize, out: usize): void {
  for (let at: usize = encoding.moves, end: usize = encoding.movesEnd; at < end; at += offsetof<Move>()) {
    const move = changetype<Move>(at)
    let from = raw + move.from * 8
    let target = out + move.place * 8
    for (const last = from + move.length * 8; from < last; from += 8, target += 8) store<u64>(target, load<u64>(from))
  }
}

/** Four rows at once where that is possible, the others one by one. */
function encodeSlot(op: Op, end: usize): void {
  const kind = op.kind
  const four = kind == HASH ? hashRows(op, ROWS, end) : kind == CROSS ? crossRows(op, ROWS, end) : ROWS
  if (kind == NUMBER) return bucketiseRows(op, end)
  if (kind == VOCABULARY) return lookUpRows(op, end)
  for (let at = four; at < end; at += 4) {
    const row: usize = load<u32>(at)
    const target = row + op.place * 8
    store<u64>(target, kind == CROSS ? crossed(op, row) : encodedId(op, load<u64>(target)))
  }
}

function lookUpRows(op: Op, end: usize): void {
  const place = op.place * 8
  for (let at: usize = ROWS; at < end; at += 4) {
    const target: usize = load<u32>(at) + place
    store<u64>(target, placeOf(op, load<u64>(target)))
  }
}

function crossed(op: Op, row: usize): u64 {
  let a = op.a
  let b = op.b
  for (let at: usize = op.data, listEnd: usize = op.data + op.length * 4; at < listEnd; at += 4) {
    const sign = load<u64>(row + load<u32>(at) * 8)
    a = step(step(a, <u32>sign), <u32>(sign >> 32))
    b = step(step(b, <u32>sign), <u32>(sign >> 32))
  }
  return bucketOf(a, b, op.buckets, op.inverse)
}

/** Boundaries that are counted one by one; more are searched. */
const FEW: u32 = 16

/** Four neighbours of a column at once, as long as their rows are neighbours too and there are few boundaries. */
function bucketiseRows(op: Op, end: usize): void {
  const place = op.place * 8
  const column: usize = op.from
  let at: usize = ROWS
  if (op.a == 4 && op.b != 0 && op.length <= FEW && end - ROWS == (state.samples - encoded) * 4) {
    for (let cells = column + encoded * 4; at + 16 <= end; at += 16, cells += 16) {
      const values = v128.load(cells)
      let counts = i32x4.splat(0)
      // Each is the first float32 that is not below the boundary.
      for (let bound: usize = op.thresholds, last: usize = bound + op.length * 4; bound < last; bound += 4)
        counts = i32x4.sub(counts, f32x4.ge(values, v128.load32_splat(bound)))
      store<u64>(load<u32>(at) + place, <u64>i32x4.extract_lane(counts, 0))
      store<u64>(load<u32>(at, 4) + place, <u64>i32x4.extract_lane(counts, 1))
      store<u64>(load<u32>(at, 8) + place, <u64>i32x4.extract_lane(counts, 2))
      store<u64>(load<u32>(at, 12) + place, <u64>i32x4.extract_lane(counts, 3))
    }
  }
  for (; at < end; at += 4) store<u64>(load<u32>(at) + place, bucketOfNumber(op, load<u32>(at - ROWS + SAMPLES)))
}

// @ts-ignore: decorator
@inline
export function encodedId(op: Op, id: u64): u64 {
  if (op.kind == HASH) return hashOfDigits(id, op.a, op.b, op.buckets, op.inverse)
  return op.kind == VOCABULARY ? placeOf(op, id) : bucketise(op, rounded(<f64>id))
}

// @ts-ignore: decorator
@inline
export function bucketOfNumber(op: Op, sample: u32): u64 {
  const cell: usize = op.from + sample * op.a
  return bucketise(op, op.b != 0 ? <f64>load<f32>(cell) : rounded(<f64>load<i64>(cell)))
}

/** As all readers round what is measured. */
// @ts-ignore: decorator
@inline
function rounded(value: f64): f64 {
  return <f64><f32>value
}

/** How many boundaries are not above the value, without a branch that would have to be guessed. */
function bucketise(op: Op, value: f64): u64 {
  let from: usize = op.data
  let length = op.length
  while (length > 1) {
    const half = length >> 1
    from = select<usize>(from + half * 8, from, load<f64>(from + half * 8 - 8) <= value)
    length -= half
  }
  return <u64>((from - op.data) >> 3) + u64(length != 0 && load<f64>(from) <= value)
}

/** The word's place from 1, in a table of pairs of id and place by the id's hash; 0 for any other. */
// @ts-ignore: decorator
@inline
function placeOf(op: Op, id: u64): u64 {
  const table: usize = op.data
  const mask = op.mask
  let place = hashOfId(id)
  while (true) {
    const pair: usize = table + ((place & mask) << 4)
    const found = load<u64>(pair, 8)
    if (found == 0 || load<u64>(pair) == id) return found
    place += 1
  }
}

/** Also in src/base/kernel/text-encoding.ts, which fills the table. */
// @ts-ignore: decorator
@inline
function hashOfId(id: u64): u32 {
  const hash = (<u32>id ^ (<u32>(id >> 32) * 0x85ebca6b)) * 0x9e3779b1
  return hash ^ (hash >> 15)
}

/** Values of fields that are ids too; 0 where there are fewer. */
export function fillIds(encoding: Encoding, line: usize, rawOffsets: usize): void {
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    const fill = changetype<Fill>(at)
    if (fill.kind != IDS) continue
    const first = line + load<u32>(rawOffsets + fill.from * 4)
    const end = line + load<u32>(rawOffsets + fill.from * 4, 4)
    for (let i: u32 = 0; i < fill.width; ++i) {
      const id: u64 = first + i * 8 < end ? load<u64>(first + i * 8) : 0
      const cell = state.samples * fill.width + i
      if (fill.isFloat != 0) store<f32>(fill.target + cell * 4, <f32><f64>id)
      else store<u64>(fill.target + cell * 8, id)
    }
  }
}

function encodeColumns(encoding: Encoding): void {
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    const fill = changetype<Fill>(at)
    if (fill.kind == VALUES) fillValues(fill)
  }
  // Behind all of these: a logarithm in its raw column may have been their source.
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    const fill = changetype<Fill>(at)
    if (fill.isLog != 0) logColumn(fill.target + encoded * fill.width * 4, (state.samples - encoded) * fill.width)
  }
}

function fillValues(fill: Fill): void {
  for (let sample = encoded; sample < state.samples; ++sample) {
    for (let i: u32 = 0; i < fill.width; ++i) {
      const cell = sample * fill.width + i
      const from = sample * fill.fromWidth + i
      if (fill.isFloat == 0) store<i64>(fill.target + cell * 8, load<i64>(fill.from + from * 8))
      else if (fill.fromIsFloat != 0) store<f32>(fill.target + cell * 4, load<f32>(fill.from + from * 4))
      else store<f32>(fill.target + cell * 4, <f32><f64>load<i64>(fill.from + from * 8))
    }
  }
}
