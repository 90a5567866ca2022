/** @file Slots that may go by other names in text: each is read under the name that the data has. */
import type { Slot } from './batch.ts'
import type { DataHead } from './head.ts'

/** The slots under the names that the first lines of slot text have; those that they do not have keep their own. */
export function namedAsData(slots: readonly Slot[], head: DataHead | undefined): readonly Slot[] {
  if (!head || !slots.some((slot) => slot.kind === 'dense' && slot.aliases)) return slots
  const names = new Set(head.lines.flatMap(({ text }) => text.split(/\s+/).map((item) => item.split(':', 1)[0]!)))
  return slots.map((slot) => {
    if (slot.kind !== 'dense' || names.has(slot.name)) return slot
    const name = slot.aliases?.find((alias) => names.has(alias))
    return name === undefined ? slot : { ...slot, name }
  })
}
