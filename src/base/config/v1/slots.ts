/** @file The slots of a dataset: `sparse_slots` and `dense_slots` as written, and beside those that its model declares. */
import { placeOf, setFix } from '../mend.ts'
import { ConfigError, type ConfigProblem } from '../problem.ts'
import type { LoadedRunConfig } from './load.ts'
import type { DatasetV1 } from './resolve.ts'

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

/** As much of a model's slot as matters here. */
export interface DeclaredSlot {
  readonly kind: 'sparse' | 'dense'
  readonly name: string
  readonly aliases?: readonly string[] | undefined
  readonly width?: number
  readonly dtype?: 'float32' | 'int64'
}

/** Throws where the model wants what the dataset does not list; returns what is worth saying about the rest. */
export function checkSlotsV1(
  { config, source }: LoadedRunConfig,
  dataset: DatasetV1,
  declared: readonly DeclaredSlot[],
): readonly string[] {
  const { sparse, dense } = dataset.slots
  if (sparse.length + dense.length === 0) return []
  const problem = (key: 'sparse_slots' | 'dense_slots', message: string, instead: string): ConfigProblem => {
    const path = ['dataset', config.dataset.indexOf(dataset), key]
    const place = placeOf(source, path, 'value')
    return {
      code: 'CONFIG_VALUE',
      key: `dataset.${dataset.name}.${key}`,
      message,
      place,
      fix: setFix(source, path, instead),
    }
  }
  const namesOf = ({ name, aliases = [] }: DeclaredSlot) => [name, ...aliases]
  // A label is written among the sparse slots, though the model reads one whole number.
  const [wide, narrow] = [declared.filter(isWide), declared.filter((slot) => !isWide(slot))]
  const missing = narrow.filter((slot) => !namesOf(slot).some((name) => sparse.includes(name)))
  const widths = wide.flatMap((slot) => {
    const found = dense.find(({ name }) => namesOf(slot).includes(name))
    return found?.width === slot.width ? [] : [{ slot, found }]
  })
  const problems: ConfigProblem[] = []
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name)
    const message = `the model also reads ${names.slice(0, 4).join(', ')}${names.length > 4 ? `, ${names.length - 4} more` : ''}`
    problems.push(problem('sparse_slots', message, [...sparse, ...names].join(' ')))
  }
  if (widths.length > 0) {
    const [{ slot, found }] = widths as [(typeof widths)[number]]
    const message = found
      ? `the model reads ${slot.width} values of ${found.name}, here it has ${found.width}`
      : `the model also reads ${slot.name} with ${slot.width} values`
    const kept = dense.filter((item) => !widths.some((wrong) => wrong.found === item))
    const mended = widths.map((wrong) => `${wrong.found?.name ?? wrong.slot.name}:${wrong.slot.width}`)
    problems.push(
      problem('dense_slots', message, [...kept.map(({ name, dims }) => `${name}:${dims}`), ...mended].join(' ')),
    )
  }
  if (problems.length > 0) throw new ConfigError(problems, source)
  const known = new Set(declared.flatMap(namesOf))
  const unread = [...sparse, ...dense.map(({ name }) => name)].filter((name) => !known.has(name))
  return unread.length > 0 ? [`dataset.${dataset.name}: the model does not read ${unread.join(', ')}`] : []
}

const isWide = ({ kind, dtype }: DeclaredSlot) => kind === 'dense' && dtype !== 'int64'
