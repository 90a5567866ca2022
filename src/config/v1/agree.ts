/** @file The slots of a dataset beside those that its model declares. */
import { placeOf, setFix } from '../mend.ts'
import { ConfigError, type ConfigProblem } from '../problem.ts'
import type { LoadedRunConfig } from './load.ts'
import type { DatasetV1 } from './resolve.ts'

/** As much of a model's slot as matters here. */
export interface DeclaredSlot {
  readonly kind: 'sparse' | 'dense'
  readonly name: string
  readonly aliases?: readonly string[]
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
