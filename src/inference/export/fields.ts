/** @file What samples give to an export: raw fields, of which features make what the slots hold. */
import { baseSlots, type Columns, createColumnWriter, rawName, type Sample } from '../../data/index.ts'
import type { ExportSlot } from './manifest.ts'

/** A raw field of samples and the slots that are made of it. */
export interface Field {
  readonly name: string
  readonly slots: readonly ExportSlot[]
  /** Whether a sample must have it: for a slot that the outputs use, or for a cross that they use. */
  readonly needed: boolean
  /** What training makes of one that is not there. */
  readonly filling: readonly number[]
}

/** Once each, in the order of the slots. */
export function fieldsOf(slots: readonly ExportSlot[]): readonly Field[] {
  const crossed = new Set(
    slots.flatMap(({ needed, feature }) => (needed && feature?.kind === 'cross' ? feature.of : [])),
  )
  const base = baseSlots(slots) as readonly ExportSlot[]
  return [...new Set(base.map(rawName))].map((name) => {
    const own = base.filter((slot) => rawName(slot) === name)
    const width = Math.max(...own.map((slot) => (slot.kind === 'sparse' ? 1 : slot.width)))
    return {
      name,
      slots: own,
      needed: own.some((slot) => slot.needed || crossed.has(slot.name)),
      filling: new Array<number>(width).fill(0),
    }
  })
}

/** Raw samples as columns: the features of the slots make them, as in training. */
export function rawColumns(slots: readonly ExportSlot[], samples: readonly Sample[]): Columns {
  const writer = createColumnWriter(slots)
  for (const sample of samples) writer.add(sample)
  return writer.take().columns
}
