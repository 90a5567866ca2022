/** @file What the parts of the text kernel share: the layout of its memory, and how a line ends well or badly. */
import { storeDecimal, storeSigned } from "./text-number"

/** What src/base/kernel/text.ts fills in (pointers and sizes) and reads back (results). Field order is the interface. */
@unmanaged
export class State {
  // results of the last call
  samples: u32
  signs: u32
  lines: u32
  position: u32
  errorCode: u32
  errorPosition: u32
  errorSlot: u32
  errorCount: u32
  ignored: u32
  // layout
  sparseSlots: u32
  slots: u32
  maxSamples: u32
  maxSigns: u32
  maxIgnored: u32
  counts: u32
  starts: u32
  signData: u32
  records: u32
  ignoredRecords: u32
  /** Room for pointers to the dense ones among the records. */
  denseRecords: u32
  hash: u32
  hashMask: u32
  tokenSlots: u32
  tokenSigns: u32
  /** 1: count bad lines and go on. */
  skipBad: u32
  skipped: u32
  /** The value of a slot that a line of slot text does not have. */
  padding: i32
  /** What is made of raw signs and numbers: see text-encode.ts; 0 when they are the output themselves. */
  encoding: u32
  /** Then the counts of one line's raw signs are here; the signs so many bytes behind their place, or in a copy. */
  rawCounts: u32
  shift: u32
  rawSigns: u32
  /** Signs that the line makes for which there was no room. */
  wanted: u32
}

/** One declared slot, or a slot found in the text that is not declared (kind IGNORED). */
@unmanaged
export class Slot {
  kind: u32
  /** Among the sparse slots for SPARSE. */
  index: u32
  /** Bytes of `name:`; the first 16 as two words with their masks, all of it at `name`. */
  word0: u64
  mask0: u64
  word1: u64
  mask1: u64
  length: u32
  name: u32
  /** The slot that last followed this one: the first guess for the next token. */
  next: u32
  width: u32
  /** Output column of a dense slot. */
  column: u32
  /** Values seen in this line, and where the first one stands. */
  seen: u32
  first: u32
  number: u32
}

export const SPARSE: u32 = 0
export const FLOAT: u32 = 1
export const INTEGER: u32 = 2
export const IGNORED: u32 = 3

export const DONE: u32 = 0
export const FULL: u32 = 1
export const BAD: u32 = 2

export const NO_COLON: u32 = 1
// In the order of the kinds of slots.
export const NOT_SIGN: u32 = 2
export const NOT_FLOAT: u32 = 3
export const NOT_INTEGER: u32 = 4
export const WRONG_WIDTH: u32 = 5
export const BAD_COUNT: u32 = 6
export const TOO_SHORT: u32 = 7
export const TOO_LONG: u32 = 8

export let state: State = changetype<State>(0)
/** The declared slots: records from `slots` to `slotsEnd`, and pointers to the dense ones among them. */
export let slots: usize = 0
export let slotsEnd: usize = 0
export let denseList: usize = 0
export let denseListEnd: usize = 0
/** Why a line has no end: FULL or BAD. */
export let outcome: u32 = DONE

export function setState(at: usize): void {
  state = changetype<State>(at)
  slots = state.records
  slotsEnd = slots + state.slots * offsetof<Slot>()
  denseList = state.denseRecords
  denseListEnd = denseList
  for (let s = slots; s < slotsEnd; s += offsetof<Slot>()) {
    if (changetype<Slot>(s).kind == SPARSE) continue
    store<u32>(denseListEnd, <u32>s)
    denseListEnd += 4
  }
}

// A line's parser returns where the line ends; the following give 0 instead, and the reason.

/** The output has no room for this line. */
export function full(): usize {
  outcome = FULL
  return 0
}

export function fail(code: u32, position: usize, slot: usize, count: u32): usize {
  state.errorCode = code
  state.errorPosition = <u32>position
  state.errorSlot = slot == 0 ? 0 : changetype<Slot>(slot).number
  state.errorCount = count
  outcome = BAD
  return 0
}

/** Where the line's signs go: to their place among the samples, or a little behind it, where most of what is made of them stays. */
// @ts-ignore: decorator
@inline
export function lineSigns(): usize {
  return state.signData + state.signs * 8 + state.shift
}

/** And where their counts go. */
// @ts-ignore: decorator
@inline
export function lineCounts(): usize {
  return state.encoding != 0 ? state.rawCounts : state.counts + state.samples * state.sparseSlots * 4
}

/** Appends one value to a dense slot; values beyond its width are only counted. Returns where the value ends, 0 if it is bad. */
// @ts-ignore: decorator
@inline
export function storeDense(at: usize, current: usize): usize {
  const slot = changetype<Slot>(current)
  const seen = slot.seen
  if (seen == 0) slot.first = <u32>at
  slot.seen = seen + 1
  const isFloat = slot.kind == FLOAT
  const cell = state.samples * slot.width + seen
  const target: usize = seen < slot.width ? slot.column + (cell << (isFloat ? 2 : 3)) : state.tokenSigns
  return isFloat ? storeDecimal(at, target) : storeSigned(at, target)
}
