/** @file Slots that no reader could fill as meant are refused before anything is read. */
import { UserError } from '../util/index.ts'
import type { Slot } from './batch.ts'

/** Names must differ and, in text, be without white space and colons: such a slot would silently stay empty. */
export function checkSlots(slots: readonly Slot[], userReader: boolean): void {
  const seen = new Set<string>()
  for (const slot of slots) {
    const { name } = slot
    if (seen.has(name)) throw badSlot(`Slot "${name}" is declared twice.`, 'Give each slot a name of its own.')
    seen.add(name)
    if (!userReader && !/^[^\s:]+$/.test(name)) {
      throw badSlot(`Slot "${name}" cannot be named in text.`, 'Use a name without white space and colons.')
    }
    if (slot.kind === 'dense' && !(Number.isSafeInteger(slot.width) && slot.width > 0)) {
      throw badSlot(`Slot "${name}" has ${slot.width} values.`, 'Declare how many values it has, 1 or more.')
    }
  }
}

function badSlot(message: string, hint: string): UserError {
  return new UserError(message, { code: 'DATA_SLOT', hint })
}
