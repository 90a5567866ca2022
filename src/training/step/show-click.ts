/** @file Show and click of signs: which tables count them and which slots of a sample they come from. */
import type { Batch, Slot } from '../../data/index.ts'
import type { TableSpec } from '../../graph/program/index.ts'
import { type TablesParameters, tableEntry } from '../../weights/table/index.ts'

/** Dense slots that hold a sample's show and click; without one every sample counts as show 1, click 0. */
export interface ShowClickSlots {
  readonly show?: string | undefined
  readonly click?: string | undefined
}

/** Tables with accessors, by name, and where their show and click come from. */
export function showClickTables(
  tables: readonly TableSpec[],
  parameters: TablesParameters,
  slots: readonly Slot[],
): Record<string, ShowClickSlots> {
  const known = new Set(slots.flatMap(({ kind, name }) => (kind === 'sparse' ? [] : [name])))
  return Object.fromEntries(
    tables.flatMap((table) => {
      const own = parameters[table.name]
      const entry = tableEntry(table, own)
      if (!own?.accessor && !entry) return []
      if (entry?.kind !== 'show_click') return [[table.name, {}]]
      const { show, click } = entry
      return [[table.name, { show: known.has(show) ? show : undefined, click: known.has(click) ? click : undefined }]]
    }),
  )
}

/** What is worth saying about names that no slot has. */
export function showClickNotices(
  tables: readonly TableSpec[],
  parameters: TablesParameters,
  slots: readonly Slot[],
): string[] {
  const found = showClickTables(tables, parameters, slots)
  return tables.flatMap((table) => {
    const entry = tableEntry(table, parameters[table.name])
    if (entry?.kind !== 'show_click') return []
    const missing = (['show', 'click'] as const).filter((what) => found[table.name]?.[what] === undefined)
    const says = { show: 'every sample counts as one show', click: 'no sample counts as a click' }
    return missing.map((what) => `table ${table.name}: no dense slot is named "${entry[what]}", so ${says[what]}`)
  })
}

/** The values of a dense slot of width 1 by sample, into `out`; all `otherwise` without a slot. */
export function sampleValues(
  batch: Batch,
  slots: readonly Slot[],
  name: string | undefined,
  otherwise: number,
  out: Float32Array,
): void {
  out.fill(otherwise)
  const dense = slots.filter(({ kind }) => kind !== 'sparse')
  const index = dense.findIndex((slot) => slot.name === name)
  const slot = dense[index]
  if (!slot) return
  const width = slot.kind === 'sparse' ? 1 : slot.width
  let sample = 0
  for (const { chunk, from, to } of batch.pieces) {
    const values = chunk.dense[index]!
    for (let i = from; i < to; i++) out[sample++] = Number(values[i * width])
  }
}
