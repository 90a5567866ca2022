/**
 * @file Samples with their features: of each line's raw signs and numbers the signs that the model sees, while they are in the nearest
 * cache. src/base/kernel/text-encoding.ts lays out the records, src/data/features is the plain version with the same results.
 */
import { logColumn } from "./log"
import { bucketOf, digitKeys, hashOfDigits, step } from "./text-hash"
import { state } from "./text-state"

/** Field order is the interface, here and below. */
@unmanaged
export class Encoding {
  /** Of the output. */
  sparseSlots: u32
  /** Whether the signs of a line with one in each raw slot may be moved to their places where they are. */
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
}

/** Raw slots of a line with one sign in each that go to other places, before anything is made of them. */
@unmanaged
class Move {
  from: u32
  length: u32
  place: u32
}

/** What makes the signs of one slot; a COPY of several that follow each other in both. */
@unmanaged
class Op {
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
}

const COPY: u32 = 0
const HASH: u32 = 1
const VOCABULARY: u32 = 2
const BUCKETISE: u32 = 3
const NUMBER: u32 = 4
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

const SAME: u32 = 0
const IDS: u32 = 1
const VALUES: u32 = 2

export function prepareEncoding(): void {
  digitKeys()
}

/**
 * Samples whose signs are encoded together: near enough to be in the nearest cache still, and enough that the processor works at several
 * at once, where one hash would keep it waiting.
 */
const BLOCK: u32 = 64
/** Samples of this call that are encoded. */
let encoded: u32 = 0

export function startEncoding(): void {
  encoded = 0
}

/** Counts the sample in, its signs ending at `signs`; false when the output has no room for what becomes of them. */
// @ts-ignore: decorator
@inline
export function closeSample(signs: usize): bool {
  if (state.encoding != 0) return placeSample(signs)
  countSample(<u32>((signs - state.signData) >> 3))
  return true
}

// @ts-ignore: decorator
@inline
function countSample(signs: u32): void {
  const samples = state.samples + 1
  state.signs = signs
  state.samples = samples
  store<u32>(state.starts + samples * 4, signs)
}

/** Every raw slot has a sign: where there are no more signs than slots, each has one, and so has the output. */
function placeSample(signs: usize): bool {
  const out: usize = state.signData + state.signs * 8
  const line = out + state.shift
  if (<u32>((signs - line) >> 3) != state.sparseSlots) return encodeLists(line, signs, out)
  const encoding = changetype<Encoding>(state.encoding)
  const slots = encoding.sparseSlots
  if (slots > state.maxSigns - state.signs) return tooMany(slots)
  if (state.samples >= onesBefore) countOnes(state.counts + state.samples * slots * 4, slots)
  const raw = encoding.inPlace != 0 ? line : copied(line, signs)
  if (encoding.fills < encoding.fillsEnd) fillIds(encoding, raw, encoding.ones)
  for (let at: usize = encoding.moves; at < <usize>encoding.movesEnd; at += offsetof<Move>()) {
    const move = changetype<Move>(at)
    const from = raw + move.from * 8
    const target = out + move.place * 8
    for (let i: usize = 0, bytes: usize = move.length * 8; i < bytes; i += 8) store<u64>(target + i, load<u64>(from + i))
  }
  countSample(state.signs + slots)
  if (state.samples - encoded >= BLOCK) encodeBlock()
  return true
}

function copied(line: usize, signs: usize): usize {
  memory.copy(state.rawSigns, line, signs - line)
  return state.rawSigns
}

/** A line with several signs in a slot; what is made of it is made at once. */
function encodeLists(line: usize, signs: usize, out: usize): bool {
  const encoding = changetype<Encoding>(state.encoding)
  const slots = encoding.sparseSlots
  const counts: usize = state.counts + state.samples * slots * 4
  const rawOffsets: usize = encoding.rawOffsets
  const offsets: usize = encoding.offsets
  onesBefore = min(onesBefore, state.samples)
  sumCounts(state.rawCounts, state.sparseSlots, rawOffsets)
  if (!countSigns(encoding, counts) || !sumCounts(counts, slots, offsets)) return tooMany(u32.MAX_VALUE)
  const total = load<u32>(offsets + slots * 4) >> 3
  if (total > state.maxSigns - state.signs) return tooMany(total)
  const raw = copied(line, signs)
  fillIds(encoding, raw, rawOffsets)
  for (let at: usize = encoding.ops; at < <usize>encoding.crosses; at += offsetof<Op>()) makeSigns(changetype<Op>(at), raw, rawOffsets, out, offsets)
  for (let at: usize = encoding.crosses; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    const op = changetype<Op>(at)
    cross(op.data, op.data + op.length * 4, op, op.a, op.b, counts, out, offsets, out + load<u32>(offsets + op.place * 4))
  }
  countSample(state.signs + total)
  return true
}

/** Samples before this one have one sign in each slot, as the counts already say since the call before. */
let onesBefore: u32 = 0

function countOnes(counts: usize, slots: u32): void {
  for (let at = counts, end = counts + slots * 4; at < end; at += 16) v128.store(at, i32x4.splat(1))
  onesBefore += u32(state.samples == onesBefore)
}

function tooMany(signs: u32): bool {
  state.wanted = signs
  return false
}

/** Where each slot begins, in bytes; false when that is beyond any memory. */
function sumCounts(counts: usize, slots: u32, offsets: usize): bool {
  let end: u64 = 0
  store<u32>(offsets, 0)
  for (let s: u32 = 0; s < slots; ++s) {
    end += <u64>load<u32>(counts + s * 4) << 3
    store<u32>(offsets + s * 4, <u32>end, 4)
  }
  return end <= <u64>u32.MAX_VALUE
}

/** The signs of each slot of the output; false when a cross has more than a memory holds. */
function countSigns(encoding: Encoding, counts: usize): bool {
  for (let at: usize = encoding.ops; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    const op = changetype<Op>(at)
    const place = counts + op.place * 4
    if (at >= <usize>encoding.crosses) {
      let product: u64 = 1
      for (let i: u32 = 0; i < op.length; ++i) {
        product *= <u64>load<u32>(counts + load<u32>(op.data + i * 4) * 4)
        if (product > <u64>u32.MAX_VALUE) return false
      }
      store<u32>(place, <u32>product)
    } else if (op.kind == NUMBER) store<u32>(place, 1)
    else memory.copy(place, state.rawCounts + op.from * 4, <usize>(op.kind == COPY ? op.length * 4 : 4 as u32))
  }
  return true
}

function makeSigns(op: Op, line: usize, rawOffsets: usize, out: usize, offsets: usize): void {
  const kind = op.kind
  let target = out + load<u32>(offsets + op.place * 4)
  if (kind == NUMBER) {
    store<u64>(target, bucketOfNumber(op, state.samples))
    return
  }
  let raw = line + load<u32>(rawOffsets + op.from * 4)
  const end = line + load<u32>(rawOffsets + (op.from + (kind == COPY ? op.length : 1)) * 4)
  for (; raw < end; raw += 8, target += 8) store<u64>(target, kind == COPY ? load<u64>(raw) : encodedId(op, load<u64>(raw)))
}

/** What is made of the samples since the last block that have one sign in each slot, and of their numbers. */
export function encodeBlock(): void {
  if (state.encoding == 0) return
  const encoding = changetype<Encoding>(state.encoding)
  for (let at: usize = encoding.ops; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    if (changetype<Op>(at).kind != COPY) encodeSlot(changetype<Op>(at), encoding.sparseSlots)
  }
  encodeColumns(encoding)
  encoded = state.samples
}

function encodeSlot(op: Op, slots: u32): void {
  const kind = op.kind
  const samples = state.samples
  const list: usize = op.data
  const listEnd: usize = list + op.length * 4
  for (let i = encoded; i < samples; ++i) {
    const start = load<u32>(state.starts + i * 4)
    if (load<u32>(state.starts + i * 4, 4) - start != slots) continue
    const row: usize = state.signData + start * 8
    const target = row + op.place * 8
    if (kind == CROSS) {
      let a = op.a
      let b = op.b
      for (let at = list; at < listEnd; at += 4) {
        const sign = load<u64>(row + load<u32>(at) * 8)
        a = step(step(a, <u32>sign), <u32>(sign >> 32))
        b = step(step(b, <u32>sign), <u32>(sign >> 32))
      }
      store<u64>(target, bucketOf(a, b, op.buckets, op.inverse))
    } else store<u64>(target, kind == NUMBER ? bucketOfNumber(op, i) : encodedId(op, load<u64>(target)))
  }
}

// @ts-ignore: decorator
@inline
function encodedId(op: Op, id: u64): u64 {
  if (op.kind == HASH) return hashOfDigits(id, op.a, op.b, op.buckets, op.inverse)
  return op.kind == VOCABULARY ? placeOf(op, id) : bucketise(op, rounded(<f64>id))
}

// @ts-ignore: decorator
@inline
function bucketOfNumber(op: Op, sample: u32): u64 {
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
function placeOf(op: Op, id: u64): u64 {
  let place = hashOfId(id)
  while (true) {
    const pair: usize = op.data + ((place & op.mask) << 4)
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

/** Every combination of the signs of the slots listed in [list, listEnd), the last one's fastest; returns where they end. */
function cross(list: usize, listEnd: usize, op: Op, a: u32, b: u32, counts: usize, out: usize, offsets: usize, target: usize): usize {
  const slot = load<u32>(list)
  let at = out + load<u32>(offsets + slot * 4)
  const end = at + load<u32>(counts + slot * 4) * 8
  const isLast = list + 4 == listEnd
  for (; at < end; at += 8) {
    const low = load<u32>(at)
    const high = load<u32>(at, 4)
    const nextA = step(step(a, low), high)
    const nextB = step(step(b, low), high)
    if (isLast) {
      store<u64>(target, bucketOf(nextA, nextB, op.buckets, op.inverse))
      target += 8
    } else target = cross(list + 4, listEnd, op, nextA, nextB, counts, out, offsets, target)
  }
  return target
}

/** Values of fields that are ids too; 0 where there are fewer. */
function fillIds(encoding: Encoding, line: usize, rawOffsets: usize): void {
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
