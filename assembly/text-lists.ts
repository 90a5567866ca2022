/** @file Lines with several signs in a slot: what features make of them, at once. */
import { bucketOfNumber, COPY, encodedId, Encoding, fillIds, NUMBER, Op } from "./text-encode"
import { bucketOf, step } from "./text-hash"
import { state } from "./text-state"

/** Makes signs of a line's raw ones at `raw`, which then are at `out`; returns how many, 0 when there is no room for them. */
export function encodeLists(encoding: Encoding, raw: usize, out: usize, counts: usize): u32 {
  const slots = encoding.sparseSlots
  const rawOffsets: usize = encoding.rawOffsets
  const offsets: usize = encoding.offsets
  sumCounts(state.rawCounts, state.sparseSlots, rawOffsets)
  const isAny = countSigns(encoding, counts) && sumCounts(counts, slots, offsets)
  const total = isAny ? load<u32>(offsets + slots * 4) >> 3 : u32.MAX_VALUE
  if (total > state.maxSigns - state.signs) {
    state.wanted = total
    return 0
  }
  fillIds(encoding, raw, rawOffsets)
  for (let at: usize = encoding.ops; at < <usize>encoding.crosses; at += offsetof<Op>()) makeSigns(changetype<Op>(at), raw, rawOffsets, out, offsets)
  for (let at: usize = encoding.crosses; at < <usize>encoding.opsEnd; at += offsetof<Op>()) {
    const op = changetype<Op>(at)
    cross(op.data, op.data + op.length * 4, op, op.a, op.b, counts, out, offsets, out + load<u32>(offsets + op.place * 4))
  }
  return total
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
