/** @file `sparse_slots` and `dense_slots`: names, and names with dimensions. */

export interface DenseSlotV1 {
  readonly name: string
  /** As written; the width is their product. */
  readonly dims: readonly number[]
  readonly width: number
}

export interface SlotsV1 {
  /** In the order of the config. By convention the first is the label. */
  readonly sparse: readonly string[]
  readonly dense: readonly DenseSlotV1[]
}

export interface SlotMistake {
  readonly message: string
  /** The whole value as it should be. */
  readonly instead: string
}

export const parseSparseSlots = (text: string): readonly string[] => text.split(/\s+/).filter((item) => item !== '')

/** `dense_var:13 img:[3,224,224]`, or what is wrong with it. */
export function parseDenseSlots(text: string): { slots: readonly DenseSlotV1[]; mistake?: SlotMistake } {
  // A space after a comma inside brackets is no separator.
  const items = parseSparseSlots(text.replace(/,\s+/g, ','))
  const slots = items.map(parseDense)
  const bad = slots.indexOf(undefined)
  const sound = slots.filter((slot) => slot !== undefined)
  if (bad < 0) return { slots: sound }
  const instead = items.map((item, i) => (slots[i] ? item : `${item.split(':')[0] || 'dense'}:1`)).join(' ')
  return { slots: sound, mistake: { message: `expected name:width, as in dense_var:13, got "${items[bad]}"`, instead } }
}

function parseDense(item: string): DenseSlotV1 | undefined {
  const match = /^([^:]+):\[?(\d+(?:,\d+)*)\]?$/.exec(item)
  if (!match) return undefined
  const dims = match[2]!.split(',').map(Number)
  const width = dims.reduce((product, dim) => product * dim, 1)
  return width > 0 ? { name: match[1]!, dims, width } : undefined
}

/** Names that stand more than once in both lists together, and the sparse names without the repetition. */
export function repeatedSlots({ sparse, dense }: SlotsV1): readonly string[] {
  const all = [...dense.map(({ name }) => name), ...sparse]
  return [...new Set(all.filter((name, i) => all.indexOf(name) !== i))]
}
