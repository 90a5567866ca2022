/** @file Slot names in text: compared with a guess by words, found by hash, noted when they are not declared. */
import { endsValue } from "./text-number"
import { IGNORED, Slot, state } from "./text-state"

const COLON: u32 = 58

/** Whether the text at p begins with the slot's `name:`. */
// @ts-ignore: decorator
@inline
export function matches(at: usize, p: usize): bool {
  const slot = changetype<Slot>(at)
  if ((load<u64>(p) & slot.mask0) != slot.word0 || (load<u64>(p, 8) & slot.mask1) != slot.word1) return false
  return slot.length <= 16 || memory.compare(p + 16, slot.name + 16, slot.length - 16) == 0
}

/** The slot whose name stands at p; an undeclared one is noted as ignored. 0 when there is no `name:`. */
export function find(p: usize): usize {
  let end = p
  while (<u32>load<u8>(end) != COLON) {
    if (endsValue(<u32>load<u8>(end))) return 0
    end += 1
  }
  const length = <u32>(end + 1 - p)
  let place = hashOf(p, length) & state.hashMask
  while (true) {
    const at: usize = load<u32>(state.hash + place * 4)
    if (at == 0) break
    const slot = changetype<Slot>(at)
    if (slot.length == length && memory.compare(slot.name, p, length) == 0) return at
    place = (place + 1) & state.hashMask
  }
  return ignore(p, length)
}

/** Notes an undeclared name, so that it is found next time and reported once. The last record is spare: it is used again. */
function ignore(p: usize, length: u32): usize {
  const spare = state.ignored >= state.maxIgnored || length > 256
  const number = spare ? state.maxIgnored : state.ignored
  const at: usize = state.ignoredRecords + number * (offsetof<Slot>() + 256)
  const slot = changetype<Slot>(at)
  slot.kind = IGNORED
  slot.length = length
  slot.width = 0
  slot.seen = 0
  slot.next = <u32>at
  slot.name = <u32>(at + offsetof<Slot>())
  // Never matched by guess: names are compared as a whole through the hash.
  slot.word0 = 1
  slot.mask0 = 0
  if (!spare) {
    memory.copy(slot.name, p, length)
    slot.number = number
    state.ignored += 1
    remember(at)
  }
  return at
}

export function remember(at: usize): void {
  const slot = changetype<Slot>(at)
  let place = hashOf(slot.name, slot.length) & state.hashMask
  while (load<u32>(state.hash + place * 4) != 0) place = (place + 1) & state.hashMask
  store<u32>(state.hash + place * 4, <u32>at)
}

/** FNV-1a. */
function hashOf(p: usize, length: u32): u32 {
  let hash: u32 = 0x811c9dc5
  for (let i: u32 = 0; i < length; ++i) hash = (hash ^ <u32>load<u8>(p + i)) * 0x01000193
  return hash ^ (hash >> 15)
}
