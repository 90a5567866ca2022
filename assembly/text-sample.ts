/** @file The end of a line: its sample is counted in, its signs where they belong or on their way through features. */
import { BLOCK, encodeBlock, encoded, Encoding, fillIds, moveSigns } from "./text-encode"
import { encodeLists } from "./text-lists"
import { lineSigns, state } from "./text-state"

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
// @ts-ignore: decorator
@inline
function placeSample(signs: usize): bool {
  const line = lineSigns()
  const encoding = changetype<Encoding>(state.encoding)
  const slots = encoding.sparseSlots
  const samples = state.samples
  if (<u32>((signs - line) >> 3) != state.sparseSlots) return placeLists(encoding, line, signs)
  const end = state.signs + slots
  if (end > state.maxSigns) return noRoom(slots)
  if (samples >= onesBefore) countOnes(slots)
  if (encoding.isAtOnce != 0) placeOnes(encoding, line, signs)
  countSample(end)
  if (samples + 1 - encoded >= BLOCK) encodeBlock()
  return true
}

function noRoom(wanted: u32): bool {
  state.wanted = wanted
  return false
}

/** What cannot wait for the block. */
function placeOnes(encoding: Encoding, line: usize, signs: usize): void {
  const out: usize = state.signData + state.signs * 8
  const isInPlace = encoding.inPlace != 0
  const raw = isInPlace ? line : copied(line, signs)
  if (encoding.hasIds != 0) fillIds(encoding, raw, encoding.ones)
  if (!isInPlace) moveSigns(encoding, raw, out)
}

function placeLists(encoding: Encoding, line: usize, signs: usize): bool {
  const out: usize = state.signData + state.signs * 8
  onesBefore = min(onesBefore, state.samples)
  const total = encodeLists(encoding, copied(line, signs), out, state.counts + state.samples * encoding.sparseSlots * 4)
  if (total != 0) countSample(state.signs + total)
  return total != 0
}

function copied(line: usize, signs: usize): usize {
  memory.copy(state.rawSigns, line, signs - line)
  return state.rawSigns
}

/** Samples before this one have one sign in each slot, as the counts already say since the call before. */
let onesBefore: u32 = 0

function countOnes(slots: u32): void {
  const counts: usize = state.counts + state.samples * slots * 4
  for (let at = counts, end = counts + slots * 4; at < end; at += 16) v128.store(at, i32x4.splat(1))
  onesBefore += u32(state.samples == onesBefore)
}
