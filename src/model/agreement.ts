/** @file A model that disagrees with its data is refused before training, at the hyper-parameter that would make them agree. */
import { configErrorAt, type LoadedConfig } from '../base/config/index.ts'
import { formatWhere, shown, UserError } from '../base/util/index.ts'
import { compareSlots, type Disagreement, detectFormat, readHead, type Slot, textSlots } from '../data/index.ts'
import type { Feeds } from './contract.ts'
import { loadDygraphClass } from './dygraph.ts'
import type { GraphMode } from './forms.ts'
import { loadModelClass, type ModelClass } from './load.ts'
import { declaredSlots } from './trace.ts'

const HEAD_BYTES = 256 * 1024
/** Looked at where the first lines leave a doubt: a slot may be rare. */
const MORE_BYTES = 4 * 1024 * 1024

/** Compares the declared slots with the first lines of text data. Throws with both numbers and where each comes from. */
export async function checkAgreement(
  loaded: LoadedConfig,
  slots: readonly Slot[],
  files: readonly string[],
  mode: GraphMode = 'static',
): Promise<void> {
  const { data_format } = loaded.config.runner
  if (data_format === 'csv' || data_format === 'parquet') return
  const format = data_format === 'auto' ? await detectFormat(files) : data_format
  for (const bytes of [HEAD_BYTES, MORE_BYTES]) {
    const head = await readHead(files, bytes)
    const compare = (declared: readonly Slot[]) => (head ? compareSlots(textSlots(declared), head, format) : [])
    const found = compare(slots)
    if (found.length === 0) return
    if (bytes === MORE_BYTES) throwDisagreement(loaded, await CLASSES[mode](loaded), found, compare)
  }
}

type DeclaringClass = ModelClass<{ createFeeds(feeds: Feeds, isInfer: boolean): unknown }>

const CLASSES: { readonly [K in GraphMode]: (loaded: LoadedConfig) => Promise<DeclaringClass> } = {
  static: loadModelClass,
  dygraph: loadDygraphClass,
}

/** Slots that nobody reads are no error by themselves; a hyper-parameter that miscounts them is, and so is a slot that never comes. */
function throwDisagreement(
  loaded: LoadedConfig,
  model: DeclaringClass,
  found: readonly Disagreement[],
  compare: (slots: readonly Slot[]) => Disagreement[],
): void {
  const mending = findMending(model, found, compare)
  if (mending) {
    const { path, value } = mending
    throw configErrorAt(loaded, ['hyper_parameters', ...path].join('.'), found.map(sentence).join('; '), value)
  }
  const certain = found.find((item) => item.certain)
  if (!certain) return
  throw new UserError(`${certain.message}`, {
    code: 'MODEL_DATA',
    where: { ...certain.where, file: shown(certain.where.file) },
    hint:
      certain.hint ??
      `Declare in ${model.declares} of ${shown(model.file)} what the data has, or set the folders to other data.`,
  })
}

const sentence = ({ message, where }: Disagreement) =>
  `${message} at ${formatWhere({ ...where, file: shown(where.file) })}`

/** The one whole number among the hyper-parameters with which nothing disagrees any more, and its right value. */
function findMending(
  { schema, values, create }: DeclaringClass,
  found: readonly Disagreement[],
  compare: (slots: readonly Slot[]) => Disagreement[],
): { readonly path: readonly string[]; readonly value: number } | undefined {
  const differences = new Set(found.map((item) => item.found - item.declared))
  for (const { path, value } of wholeNumbers(values)) {
    for (const difference of differences) {
      const mended = value + difference
      try {
        const changed = withValue(values, path, mended)
        const checked = schema ? schema.parse(changed) : changed
        if (compare(declaredSlots(create(checked))).length === 0) return { path, value: mended }
      } catch {
        // A value that the model does not take is not the right one.
      }
    }
  }
  return undefined
}

function* wholeNumbers(
  values: unknown,
  path: readonly string[] = [],
): Generator<{ readonly path: readonly string[]; readonly value: number }> {
  if (Number.isSafeInteger(values)) yield { path, value: values as number }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return
  for (const [key, value] of Object.entries(values)) yield* wholeNumbers(value, [...path, key])
}

function withValue(values: unknown, [key, ...rest]: readonly string[], value: number): unknown {
  if (key === undefined) return value
  const group = values as Readonly<Record<string, unknown>>
  return { ...group, [key]: withValue(group[key], rest, value) }
}
