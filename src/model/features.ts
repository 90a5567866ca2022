/** @file Features that a model declares beside its inputs: checked where they are written, carried as plain data. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { optionError, refuseOptions, suggest, UserError, userPlace, type Where } from '../base/util/index.ts'
import type { Feature, LogFeature, Slot } from '../data/index.ts'

/** What hash, bucketise, vocabulary and ids give, for `sparse`; the raw field is the input's own unless `from` names another. */
export type SparseFeature = Unnamed<Exclude<Feature, { kind: 'cross' }>>
/** What log gives, for `dense`. */
export type DenseFeature = Unnamed<LogFeature>
type Unnamed<T> = T extends unknown ? Omit<T, 'from'> & { readonly from?: string | undefined } : never

/** Options of every feature. */
export interface FeatureOptions {
  /** The raw field it is made of. @default the input's name */
  readonly from?: string | undefined
}

/** The features by name, as `inputs` gets them. */
export interface FeatureFunctions {
  /** Any text or id as a number below `buckets`. */
  hash(buckets: number, options?: FeatureOptions): SparseFeature
  /** A number as the number of boundaries that are not above it. */
  bucketise(boundaries: readonly number[], options?: FeatureOptions): SparseFeature
  /** A word as its line in a file beside the model, from 1; any other word as 0. */
  vocabulary(file: string, options?: FeatureOptions): SparseFeature
  /** Several ids in one text, divided by `split`. */
  ids(split: string, options?: FeatureOptions): SparseFeature
  /** The sign of x times log(1 + |x|). */
  log(options?: FeatureOptions): DenseFeature
}

const FROM = { from: true } as const
const fromOf = (what: string, { from, ...unknown }: FeatureOptions = {}) => {
  refuseOptions(what, unknown, FROM)
  return from
}

export const FEATURES: FeatureFunctions = {
  hash: (buckets, options) => ({ kind: 'hash', buckets: bucketsOf('hash', buckets), from: fromOf('hash', options) }),
  bucketise: (boundaries, options) => {
    checkBoundaries(boundaries)
    return { kind: 'bucketise', boundaries: [...boundaries], from: fromOf('bucketise', options) }
  },
  vocabulary: (file, options) => ({
    kind: 'vocabulary',
    words: wordsOf(file),
    from: fromOf('vocabulary', options),
  }),
  ids: (split, options) => {
    if (typeof split !== 'string' || split === '')
      throw optionError(`ids: split is ${JSON.stringify(split)}`, "Give the text between two ids: ids('|').")
    return { kind: 'ids', split, from: fromOf('ids', options) }
  },
  log: (options) => ({ kind: 'log', from: fromOf('log', options) }),
}

export function bucketsOf(what: string, buckets: unknown): number {
  if (Number.isSafeInteger(buckets) && (buckets as number) > 0) return buckets as number
  throw optionError(`${what}: buckets is ${String(buckets)}`, 'Give a whole number from 1 up to 2^53, such as 1e6.')
}

function checkBoundaries(boundaries: unknown): void {
  const list = Array.isArray(boundaries) ? (boundaries as unknown[]) : []
  const wrong = list.findIndex(
    (value, i) => !Number.isFinite(value) || (i > 0 && !((list[i - 1] as number) < (value as number))),
  )
  if (list.length > 0 && wrong < 0) return
  const what =
    list.length === 0
      ? JSON.stringify(boundaries)
      : `${list.join(', ')}: ${list[wrong]} is not above ${list[wrong - 1] ?? 'it'}`
  throw optionError(
    `bucketise: boundaries are not ascending numbers: ${what}`,
    'Give them from low to high, each once: bucketise([18, 25, 35]).',
  )
}

/** One word a line, relative to the file of the model. */
function wordsOf(file: string): readonly string[] {
  const place = userPlace(new Error().stack)
  const path = resolve(place ? dirname(place.file) : '.', file)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw optionError(
      `vocabulary: ${path} cannot be read (${code})`,
      'Give a file of one word a line, relative to the file of the model.',
    )
  }
  const words = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const seen = new Set<string>()
  const twice = words.find((word) => seen.size === seen.add(word).size)
  if (words.length === 1 && words[0] === '') throw optionError(`vocabulary: ${path} is empty`, 'Write one word a line.')
  if (twice !== undefined)
    throw optionError(`vocabulary: ${path} has "${twice}" twice`, 'Leave one of the two lines out.')
  return words
}

/** A cross, and where it was declared. */
export interface DeclaredCross {
  readonly name: string
  readonly of: readonly string[]
  readonly place: Where | undefined
}

/** Crosses are of sparse inputs that the model declares, before or after. */
export function checkCrosses(slots: readonly Slot[], crosses: readonly DeclaredCross[]): void {
  const known = slots
    .filter(({ kind, feature }) => kind === 'sparse' && feature?.kind !== 'cross')
    .map(({ name }) => name)
  for (const { name, of, place } of crosses) {
    const unknown = of.find((one) => !known.includes(one))
    if (unknown === undefined) continue
    const guess = suggest(unknown, known)
    throw new UserError(`${name}: there is no sparse input "${unknown}"; inputs: ${known.join(', ') || 'none'}`, {
      code: 'MODEL_OPTION',
      where: place,
      hint: guess ? `Did you mean ${guess}?` : `Declare it: sparse('${unknown}').`,
    })
  }
}
