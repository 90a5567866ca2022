/**
 * @file Samples with their features: of each line's raw signs and numbers the signs that the model sees, while they are in the nearest
 * cache. src/base/kernel/text-encoding.ts lays out the records, src/data/features is the plain version with the same results.
 */
import { bucketOf, digitKeys, lanesOfDigits, step } from "./text-hash"
import { logColumn } from "./text-log"
import { state } from "./text-state"

/** Field order is the interface, here and below. */
@unmanaged
export class Encoding {
  /** Of the output. */
  sparseSlots: u32
  /** Whether what is made of a line with one sign in each raw slot may be written over it. */
  inPlace: u32
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

/** Counts the sample in, its signs ending at `signs`; false when the output has no room for what becomes of them. */
// @ts-ignore: decorator
@inline
export function closeSample(signs: usize): bool {
  if (state.encoding == 0) state.signs = <u32>((signs - state.signData) >> 3)
  else if (!encodeSample(signs)) return false
  state.samples += 1
  store<u32>(state.starts + state.samples * 4, state.signs)
  return true
}

/** Samples before this one have one sign in each slot, as the counts already say since the call before. */
let onesBefore: u32 = 0

function encodeSample(signs: usize): bool {
  const encoding = changetype<Encoding>(state.encoding)
  const slots = encoding.sparseSlots
  const counts: usize = state.counts + state.samples * slots * 4
  const out: usize = state.signData + state.signs * 8
  let raw = out + state.shift
  let rawOffsets: usize = encoding.ones
  let offsets: usize = encoding.ones
  // Every raw slot has a sign: where there are no more signs than slots, each has one, and so has the output.
  const ones = <u32>((signs - raw) >> 3) == state.sparseSlots
  if (!ones || encoding.inPlace == 0) {
    memory.copy(state.rawSigns, raw, signs - raw)
    raw = state.rawSigns
  }
  if (ones) countOnes(counts, slots)
  else {
    onesBefore = min(onesBefore, state.samples)
    rawOffsets = encoding.rawOffsets
    offsets = encoding.offsets
    sumCounts(state.rawCounts, state.sparseSlots, rawOffsets)
    if (!countSigns(encoding, counts) || !sumCounts(counts, slots, offsets)) return tooMany(u32.MAX_VALUE)
  }
  const total = load<u32>(offsets + slots * 4) >> 3
  if (total > state.maxSigns - state.signs) return tooMany(total)
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    if (changetype<Fill>(at).kind == IDS) fillIds(changetype<Fill>(at), raw, rawOffsets)
  }
  for (let at: usize = encoding.ops; at < <usize>encoding.crosses; at += offsetof<Op>()) makeSigns(changetype<Op>(at), raw, rawOffsets, out, offsets)
  for (let at: usize = encoding.crosses; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    const op = changetype<Op>(at)
    cross(op.data, op.data + op.length * 4, op, op.a, op.b, counts, out, offsets, out + load<u32>(offsets + op.place * 4))
  }
  state.signs += total
  return true
}

function countOnes(counts: usize, slots: u32): void {
  if (state.samples < onesBefore) return
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
    const cell: usize = op.from + state.samples * op.a
    store<u64>(target, bucketise(op, op.b != 0 ? <f64>load<f32>(cell) : rounded(<f64>load<i64>(cell))))
    return
  }
  let raw = line + load<u32>(rawOffsets + op.from * 4)
  if (kind == COPY && raw == target) return
  const end = line + load<u32>(rawOffsets + (op.from + (kind == COPY ? op.length : 1)) * 4)
  if (kind == COPY) {
    for (; raw < end; raw += 8, target += 8) store<u64>(target, load<u64>(raw))
    return
  }
  for (; raw < end; raw += 8, target += 8) {
    const id = load<u64>(raw)
    store<u64>(
      target,
      kind == HASH ? bucketOf(lanesOfDigits(id, op.a, op.b), op.buckets, op.inverse)
      : kind == VOCABULARY ? placeOf(op, id)
      : bucketise(op, rounded(<f64>id)),
    )
  }
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
      store<u64>(target, bucketOf(<u64>nextA | (<u64>nextB << 32), op.buckets, op.inverse))
      target += 8
    } else target = cross(list + 4, listEnd, op, nextA, nextB, counts, out, offsets, target)
  }
  return target
}

/** Values of a field that is an id too; 0 where there are fewer. */
function fillIds(fill: Fill, line: usize, rawOffsets: usize): void {
  const first = line + load<u32>(rawOffsets + fill.from * 4)
  const end = line + load<u32>(rawOffsets + fill.from * 4, 4)
  for (let i: u32 = 0; i < fill.width; ++i) {
    const id: u64 = first + i * 8 < end ? load<u64>(first + i * 8) : 0
    const cell = state.samples * fill.width + i
    if (fill.isFloat != 0) store<f32>(fill.target + cell * 4, <f32><f64>id)
    else store<u64>(fill.target + cell * 8, id)
  }
}

/** Dense columns of all samples, once they are parsed. */
export function encodeColumns(): void {
  if (state.encoding == 0) return
  const encoding = changetype<Encoding>(state.encoding)
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    const fill = changetype<Fill>(at)
    if (fill.kind == VALUES) fillValues(fill)
  }
  // Behind all of these: a logarithm in its raw column may have been their source.
  for (let at: usize = encoding.fills; at < <usize>encoding.fillsEnd; at += offsetof<Fill>()) {
    const fill = changetype<Fill>(at)
    if (fill.isLog != 0) logColumn(fill.target, state.samples * fill.width)
  }
}

function fillValues(fill: Fill): void {
  for (let sample: u32 = 0; sample < state.samples; ++sample) {
    for (let i: u32 = 0; i < fill.width; ++i) {
      const cell = sample * fill.width + i
      const from = sample * fill.fromWidth + i
      if (fill.isFloat == 0) store<i64>(fill.target + cell * 8, load<i64>(fill.from + from * 8))
      else if (fill.fromIsFloat != 0) store<f32>(fill.target + cell * 4, load<f32>(fill.from + from * 4))
      else store<f32>(fill.target + cell * 4, <f32><f64>load<i64>(fill.from + from * 8))
    }
  }
}
