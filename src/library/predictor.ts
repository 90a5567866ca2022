/** @file openPredictor(): an export in this process, asked sample by sample or for whole files. */
import { openDevice } from '../base/device/index.ts'
import { processEnv, refuseTelemetry } from '../base/env/index.ts'
import { isUserError, suggest, UserError } from '../base/util/index.ts'
import type { Columns, SampleValue } from '../data/index.ts'
import type { ExportManifest, Field, Scored, Scorer } from '../inference/export/index.ts'

/** What a model takes and gives, by name; `model.d.ts` of an export says it of that export. */
export interface ModelTypes {
  readonly sample: Readonly<Record<string, SampleValue | undefined>>
  readonly outputs: Readonly<Record<string, OutputValues>>
}

/** Values of all samples in turn; the first of `dims` counts samples. */
export interface OutputValues {
  readonly data: Float32Array | Float64Array | BigInt64Array | Int32Array | Uint8Array
  readonly dims: readonly number[]
}

/** Options of openPredictor. */
export interface PredictorOptions {
  /** An export, or a folder that holds exports by epoch: the last one is taken. */
  readonly model: string
  /** Fills slots that a sample lacks as in training (id 0, zeros), instead of refusing it. @default false */
  readonly fillMissing?: boolean | undefined
  /** What computes: a provider that must be there, or gpu for the best of this host, else the CPU. @default 'cpu' */
  readonly device?: 'cpu' | 'webgpu' | 'cuda' | 'gpu' | undefined
  /** Hears when there is no such device and the CPU computes. */
  readonly onNotice?: ((message: string) => void) | undefined
}

/** Of some samples, in their order. */
export interface Prediction<Model extends ModelTypes = ModelTypes> {
  readonly samples: number
  /** The manifest's one number a sample: mostly the probability. */
  readonly scores: Float32Array
  readonly outputs: Model['outputs']
}

/** Options of Predictor.scoreFiles. */
export interface ScoreFileOptions {
  /** A file or a folder of files, plain or .gz; or text as it arrives. */
  readonly input: string | AsyncIterable<Uint8Array>
  /** @default 'auto' */
  readonly format?: 'auto' | 'slot' | 'multislot' | undefined
  /** Hears what is worth knowing of the files. */
  readonly onNotice?: ((message: string) => void) | undefined
}

/** An open export. Scoring blocks this thread while the graph runs; calls are answered one after the other. */
export interface Predictor<Model extends ModelTypes = ModelTypes> extends AsyncDisposable {
  /** Slots, tables, inputs and outputs, as manifest.json has them. */
  readonly manifest: ExportManifest
  /** Scores samples, each an object of values by slot; raw values where the model declares features. */
  score(samples: readonly Model['sample'][]): Promise<Prediction<Model>>
  /** Scores slot or MultiSlot text, some hundred lines at a time, in the order of the lines. */
  scoreFiles(options: ScoreFileOptions): AsyncIterable<Prediction<Model>>
  /** Gives up its memory, once what was asked is answered. */
  close(): Promise<void>
}

/**
 * Opens an export to score with in this process; every file is compared with its checksum.
 *
 * @example
 * import type { Model } from './exported/model.d.ts'
 * await using predictor = await openPredictor<Model>({ model: 'exported' })
 * const { scores } = await predictor.score([sample])
 */
export async function openPredictor<Model extends ModelTypes = ModelTypes>(
  options: PredictorOptions,
): Promise<Predictor<Model>> {
  refuseTelemetry()
  const { fieldsOf, openExport, rawColumns, Scorer, scoreText } = await import('../inference/export/index.ts')
  const { device = 'cpu', onNotice = () => {} } = options
  const scorer = await Scorer.open(await openExport(options.model), openDevice({ device }, processEnv(), onNotice))
  const turns = new Turns(scorer)
  const { manifest } = scorer
  const check = sampleCheck(fieldsOf(manifest.slots), options.fillMissing ?? false)
  return {
    manifest,
    score: async (samples) => {
      samples.forEach(check)
      return (await turns.score(asColumns(() => rawColumns(manifest.slots, samples as never)))) as Prediction<Model>
    },
    scoreFiles: (text) => scoreText({ manifest, score: turns.score }, text) as AsyncIterable<Prediction<Model>>,
    close: turns.close,
    [Symbol.asyncDispose]: turns.close,
  }
}

/** One call of the session at a time, and none after the end. */
class Turns {
  readonly #scorer: Scorer
  #last: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(scorer: Scorer) {
    this.#scorer = scorer
  }

  readonly score = (columns: Columns): Promise<Scored> => {
    if (this.#closing !== undefined)
      throw new UserError('This predictor is closed.', { code: 'PREDICT_CLOSED', hint: OPEN_AGAIN })
    const own = this.#last.then(() => this.#scorer.score(columns))
    this.#last = own.catch(() => undefined)
    return own
  }

  readonly close = (): Promise<void> => {
    this.#closing ??= this.#last.then(() => this.#scorer.close())
    return this.#closing
  }
}

const OPEN_AGAIN = 'Open another with openPredictor(), or close this one later.'

function sampleCheck(fields: readonly Field[], fillMissing: boolean) {
  const needed = fields.filter((field) => field.needed).map(({ name }) => name)
  const known = new Set(fields.map(({ name }) => name))
  return (sample: unknown, i: number): void => {
    if (typeof sample !== 'object' || sample === null || Array.isArray(sample))
      throw wrongSample(i, 'expected an object with values by slot', `It has the slots ${listed(needed)}.`)
    const strange = Object.keys(sample).find((name) => !known.has(name))
    if (strange !== undefined) {
      const meant = suggest(strange, [...known])
      throw wrongSample(i, `the model has no slot "${strange}"`, meant ? `Did you mean "${meant}"?` : slotsHint(needed))
    }
    const lacking = fillMissing
      ? undefined
      : needed.find((name) => (sample as ModelTypes['sample'])[name] === undefined)
    if (lacking !== undefined)
      throw wrongSample(i, `slot "${lacking}" is missing`, 'Add it, or fill what is missing with fillMissing: true.')
  }
}

/** What is wrong with a value is found where columns are made. */
function asColumns(make: () => Columns): Columns {
  try {
    return make()
  } catch (error) {
    throw isUserError(error) ? new UserError(error.message, { code: 'PREDICT_SAMPLE', cause: error }) : error
  }
}

const wrongSample = (index: number, message: string, hint: string): UserError =>
  new UserError(`sample ${index}: ${message}`, { code: 'PREDICT_SAMPLE', hint })

const slotsHint = (names: readonly string[]): string => `It has the slots ${listed(names)}.`

function listed(names: readonly string[]): string {
  const most = 12
  return names.length > most ? `${names.slice(0, most).join(', ')} and ${names.length - most} more` : names.join(', ')
}
