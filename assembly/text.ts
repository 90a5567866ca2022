/**
 * @file Text kernel: lines of slot text and of MultiSlot text, parsed in place to sample-major columns.
 * src/base/kernel/text.ts lays out the private memory, src/base/kernel/text-reference.testing.ts is the plain version with the same results.
 * The text given is whole lines, each ended by a newline, followed by at least 32 readable bytes.
 */
import { encodeBlock, prepareEncoding, startEncoding } from "./text-encode"
import { multiSlotLine } from "./text-multislot"
import { remember } from "./text-names"
import { NEWLINE, skipSpace } from "./text-number"
import { slotLine } from "./text-slot"
import { BAD, DONE, FULL, outcome, setState, Slot, slots, slotsEnd, state } from "./text-state"

export { checksum } from "./text-sum"

/** The first byte that the layout may use. */
export function heapBase(): usize {
  return __heap_base
}

export function configure(at: usize): void {
  setState(at)
  prepareEncoding()
  for (let s = slots; s < slotsEnd; s += offsetof<Slot>()) remember(s)
}

/** Parses lines `slot:value slot:value ...` in [from, to) until they end, the output is full or a line is bad. */
export function parseSlotText(from: usize, to: usize): u32 {
  return parseLines(from, to, false)
}

/** The same for lines `count value ... count value ...`, slots in declared order. */
export function parseMultiSlotText(from: usize, to: usize): u32 {
  return parseLines(from, to, true)
}

function parseLines(from: usize, to: usize, multiSlot: bool): u32 {
  state.samples = 0
  state.signs = 0
  state.lines = 0
  state.skipped = 0
  store<u32>(state.starts, 0)
  startEncoding()
  let p = from
  while (p < to) {
    const line = p
    p = skipSpace(p)
    if (<u32>load<u8>(p) != NEWLINE) {
      if (state.samples == state.maxSamples) return finish(FULL, line)
      p = multiSlot ? multiSlotLine(p) : slotLine(p)
      if (p == 0) {
        if (outcome != BAD || state.skipBad == 0) return finish(outcome, line)
        p = line
        while (<u32>load<u8>(p) != NEWLINE) ++p
        state.skipped += 1
      }
    }
    p += 1
    state.lines += 1
  }
  return finish(DONE, p)
}

function finish(status: u32, position: usize): u32 {
  encodeBlock()
  state.position = <u32>position
  return status
}
