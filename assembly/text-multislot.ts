/** @file MultiSlot text: `count value ... count value ...`, slots in declared order. */
import { NEWLINE, skipSpace, storeUnsigned } from "./text-number"
import { closeSample } from "./text-sample"
import {
  BAD_COUNT, fail, full, lineCounts, lineSigns, NOT_SIGN, Slot, slots, slotsEnd, SPARSE, state, storeDense, TOO_LONG, TOO_SHORT, WRONG_WIDTH,
} from "./text-state"

/** Where the last count ended. */
let countEnd: usize = 0

/** Parses one line from its first token on; returns where it ends, 0 if it is bad or does not fit. */
export function multiSlotLine(from: usize): usize {
  const counts = lineCounts()
  let signs = lineSigns()
  const signEnd: usize = state.signData + state.maxSigns * 8
  let p = from
  for (let s = slots; s < slotsEnd; s += offsetof<Slot>()) {
    const slot = changetype<Slot>(s)
    const kind = slot.kind
    p = skipSpace(p)
    const count = countAt(p)
    if (count == 0) return fail(<u32>load<u8>(p) == NEWLINE ? TOO_SHORT : BAD_COUNT, p, s, 0)
    if (kind != SPARSE && count != slot.width) return fail(WRONG_WIDTH, p, s, count)
    slot.seen = 0
    p = countEnd
    for (let i: u32 = 0; i < count; ++i) {
      const at = skipSpace(p)
      if (kind == SPARSE) {
        if (signs == signEnd) return full()
        p = storeUnsigned(at, signs)
        signs += 8
      } else p = storeDense(at, s)
      if (p == 0) return <u32>load<u8>(at) == NEWLINE ? fail(TOO_SHORT, at, s, i) : fail(NOT_SIGN + kind, at, s, 0)
    }
    if (kind == SPARSE) store<u32>(counts + slot.index * 4, count)
  }
  p = skipSpace(p)
  if (<u32>load<u8>(p) != NEWLINE) return fail(TOO_LONG, p, 0, 0)
  return closeSample(signs) ? p : full()
}

/** The number of values at p, 1 to 2^31-1, leaving `countEnd` behind it; 0 if there is none such. */
// @ts-ignore: decorator
@inline
function countAt(p: usize): u32 {
  if (<u32>load<u16>(p) == 0x2031) {
    countEnd = p + 2
    return 1
  }
  countEnd = storeUnsigned(p, state.tokenSigns)
  const count = load<u64>(state.tokenSigns)
  return countEnd == 0 || count > 0x7fffffff ? 0 : <u32>count
}
