/** @file Slot text: `slot:value slot:value ...`, slots in any order. */
import { find, matches } from "./text-names"
import { endsValue, NEWLINE, skipSpace, storeUnsigned } from "./text-number"
import { closeSample } from "./text-sample"
import {
  denseList, denseListEnd, fail, FLOAT, full, IGNORED, lineCounts, lineSigns, NO_COLON, NOT_SIGN, Slot, slots, SPARSE, state, storeDense, WRONG_WIDTH,
} from "./text-state"

/** The slot that started the last line, 0 before the first. */
let firstSlot: usize = 0

/** Parses one line from its first token on; returns where it ends, 0 if it is bad or does not fit. */
export function slotLine(from: usize): usize {
  const sparseSlots = state.sparseSlots
  const counts = lineCounts()
  const signBase = lineSigns()
  const signEnd: usize = state.signData + state.maxSigns * 8
  clearWords(counts, sparseSlots)
  for (let d = denseList; d < denseListEnd; d += 4) changetype<Slot>(load<u32>(d)).seen = 0

  let signs = signBase
  let token: usize = state.tokenSlots
  let present: u32 = 0
  let last: u32 = 0
  let ordered = true
  let current: usize = 0
  let p = from
  do {
    // Tokens mostly come as in the line before: two guesses, and a hash only when both are wrong.
    let next: usize = firstSlot == 0 ? slots : firstSlot
    let other: usize = next
    if (current != 0) {
      const before = changetype<Slot>(current)
      const again = before.seen < before.width
      next = again ? current : <usize>before.next
      other = again ? <usize>before.next : current
    }
    if (!matches(next, p)) {
      next = matches(other, p) ? other : find(p)
      if (next == 0) return fail(NO_COLON, p, 0, 0)
    }
    if (current == 0) firstSlot = next
    else if (next != current) changetype<Slot>(current).next = <u32>next
    current = next

    const slot = changetype<Slot>(current)
    const kind = slot.kind
    const at = p + slot.length
    if (kind == SPARSE) {
      if (signs == signEnd) return full()
      p = storeUnsigned(at, signs)
      if (p == 0) return fail(NOT_SIGN, at, current, 0)
      signs += 8
      const index = slot.index
      store<u32>(token, index)
      token += 4
      const seen = load<u32>(counts + index * 4)
      store<u32>(counts + index * 4, seen + 1)
      present += u32(seen == 0)
      ordered = ordered && index >= last
      last = index
    } else if (kind == IGNORED) {
      p = at
      while (!endsValue(<u32>load<u8>(p))) p += 1
    } else {
      p = storeDense(at, current)
      if (p == 0) return fail(NOT_SIGN + kind, at, current, 0)
    }
    p = skipSpace(p)
  } while (<u32>load<u8>(p) != NEWLINE)

  if (!ordered || present < sparseSlots) {
    signs = arrange(counts, signBase, signs, signEnd)
    if (signs == 0) return full()
  }
  if (!closeDense()) return 0
  return closeSample(signs) ? p : full()
}

/** Zeroes `length` u32; may zero up to three more behind them, which are not in use yet. */
// @ts-ignore: decorator
@inline
function clearWords(at: usize, length: u32): void {
  for (let end = at + length * 4; at < end; at += 16) v128.store(at, i32x4.splat(0))
}

/** Fills dense slots that did not appear with the padding and refuses a wrong number of values. */
function closeDense(): bool {
  for (let d = denseList; d < denseListEnd; d += 4) {
    const at: usize = load<u32>(d)
    const slot = changetype<Slot>(at)
    if (slot.seen == slot.width) continue
    if (slot.seen != 0) return fail(WRONG_WIDTH, slot.first, at, slot.seen) != 0
    const isFloat = slot.kind == FLOAT
    const bytes = slot.width * (isFloat ? 4 : 8)
    const cells: usize = slot.column + state.samples * bytes
    if (state.padding == 0) memory.fill(cells, 0, bytes)
    else for (let i: u32 = 0; i < slot.width; ++i) {
      if (isFloat) store<f32>(cells + i * 4, <f32>state.padding)
      else store<i64>(cells + i * 8, <i64>state.padding)
    }
  }
  return true
}

/** Puts a line's signs in slot order, with the padding for slots that did not appear. Returns the new end, 0 if there is no room. */
function arrange(counts: usize, from: usize, to: usize, limit: usize): usize {
  const tokens = <u32>((to - from) >> 3)
  const copy: usize = state.tokenSigns
  const offsets: usize = copy + tokens * 8
  memory.copy(copy, from, to - from)
  let at = from
  for (let s: u32 = 0; s < state.sparseSlots; ++s) {
    store<u32>(offsets + s * 4, <u32>at)
    let count = load<u32>(counts + s * 4)
    if (count == 0) {
      if (at + 8 > limit) return 0
      store<u64>(at, <u64>(<i64>state.padding))
      store<u32>(counts + s * 4, 1)
      count = 1
    }
    at += count * 8
    if (at > limit) return 0
  }
  for (let t: u32 = 0; t < tokens; ++t) {
    const offset = offsets + load<u32>(state.tokenSlots + t * 4) * 4
    const place = load<u32>(offset)
    store<u64>(place, load<u64>(copy + t * 8))
    store<u32>(offset, place + 8)
  }
  return at
}
