/** @file A model of ours with the weights that Paddle trained: which weight is which, and whether both compute the same. */
import { readFile } from 'node:fs/promises'
import type { LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { writeWeights } from '../../base/kernel/index.ts'
import { shown, UserError } from '../../base/util/index.ts'
import { type Batch, openReader } from '../../data/index.ts'
import { ortEngine } from '../../graph/engine/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { loadModel, type TracedModel } from '../../model/index.ts'
import { HostStep, hostGraph } from '../../training/step/index.ts'
import { beginningOf, createParams, findDataFiles, inputOf } from '../../training/threads/index.ts'
import { LocalParams } from '../../weights/params/index.ts'
import { saveSnapshot } from '../../weights/snapshot/index.ts'
import { type Match, matchWeights, type Wanted } from './match.ts'
import { type PaddleWeight, readPdparams } from './pdparams.ts'

export interface ParityOptions {
  readonly config: LoadedConfig
  /** The .pdparams. */
  readonly paddle: string
  /** What Paddle computed: a JSON file, or the numbers. @default weights alone are compared */
  readonly reference?: string | Reference | undefined
  /** Where a checkpoint with Paddle's weights is written. @default nowhere */
  readonly save?: string | undefined
  /** How far numbers may lie apart. @default 1e-4 */
  readonly tolerance?: number | undefined
  readonly emit: EventSink
}

/** What Paddle computed for the first batches of the training data. */
export interface Reference {
  /** The loss of each batch. */
  readonly losses?: readonly number[] | undefined
  /** Of each batch the predictions that AUCs are measured of, in the order of the metrics. */
  readonly predictions?: readonly (readonly (readonly number[])[])[] | undefined
  /** The weights learned after each batch. @default false */
  readonly training?: boolean | undefined
}

export interface Difference {
  readonly what: 'loss' | 'prediction'
  readonly batch: number
  readonly ours: number
  readonly paddles: number
  readonly distance: number
}

export interface ParityResult {
  readonly matches: readonly Match[]
  readonly extra: readonly PaddleWeight[]
  readonly batches: number
  /** The largest of each kind that was compared. */
  readonly differences: readonly Difference[]
  /** Weights learned in between. */
  readonly training: boolean
  /** Rows were trained as Paddle trains them, since that agrees better: Adam's correction of sparse gradients counts one step more. */
  readonly rowsAhead: boolean
  /** The dense gradients of the first step, where weights learned by Adam. */
  readonly firstStep?: FirstStep | undefined
  readonly agrees: boolean
}

/** How many dense weights the first step moved, and how many of them by gradients that are next to nothing beside the largest. */
export interface FirstStep {
  readonly moved: number
  readonly byRounding: number
}

export async function parity(options: ParityOptions): Promise<ParityResult> {
  const { config: loaded, paddle, save, emit, tolerance = 1e-4 } = options
  const weights = await readPdparams(paddle)
  const reference = typeof options.reference === 'string' ? await readReference(options.reference) : options.reference
  const model = await loadModel(loaded)
  const { params, matches, extra } = withWeights(loaded, model, weights)
  if (save !== undefined) {
    const state = { program: programHash(model.train), seed: loaded.config.runner.seed, ...beginningOf(0), metrics: {} }
    await saveSnapshot({ folder: save, params, state, emit })
  }
  const found = matches.every(({ kind }) => kind === 'matched')
  if (!reference) return { matches, extra, ...NOTHING, agrees: found }
  const first = await compare(loaded, model, params, reference)
  const isFar = !first.differences.every(({ distance }) => distance <= tolerance)
  const tries = isFar && reference.training && params.handle.tables.some(({ optimizer }) => optimizer.kind === 'adam')
  const second = tries ? await compare(loaded, model, paddlesRows(loaded, model, weights), reference) : first
  const rowsAhead = farthest(second) < farthest(first)
  const compared = rowsAhead ? second : first
  const agrees = found && farthest(compared) <= tolerance
  return { matches, extra, ...compared, training: reference.training ?? false, rowsAhead, agrees }
}

const NOTHING = { batches: 0, differences: [], training: false, rowsAhead: false } as const

const farthest = ({ differences }: Pick<ParityResult, 'differences'>) =>
  Math.max(0, ...differences.map(({ distance }) => distance))

/** The model's parameters with Paddle's weights in them. */
function withWeights(loaded: LoadedConfig, model: TracedModel, weights: readonly PaddleWeight[]) {
  const params = createParams(loaded.config, model, model, 1)
  const { matches, extra } = matchWeights(weights, wantedOf(params))
  for (const match of matches) if (match.kind === 'matched') put(params, match.wanted, match.weight)
  return { params, matches, extra }
}

/** Paddle's Adam multiplies the powers of its betas before it applies a sparse gradient, not after: rows are corrected as in the next step. */
function paddlesRows(loaded: LoadedConfig, model: TracedModel, weights: readonly PaddleWeight[]): LocalParams {
  const { handle } = withWeights(loaded, model, weights).params
  return new LocalParams({ ...handle, rowStepsAhead: 1 }, 0)
}

/** Gradients smaller than this part of the largest are what rounding leaves of sums that cancel. */
const ROUNDING = 1e-6

/** Adam's first moment is the gradient, scaled, after one step. */
function firstStepOf({ dense, handle }: LocalParams): FirstStep | undefined {
  if (handle.dense.optimizer.kind !== 'adam') return undefined
  const bytes = dense.bytes()
  const moments = new Float32Array(bytes.buffer, bytes.byteOffset + 4 * dense.layout.floats, dense.layout.floats)
  const sizes = moments.map(Math.abs)
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0)
  const moved = sizes.filter((size) => size > 0)
  return { moved: moved.length, byRounding: moved.filter((size) => size < largest * ROUNDING).length }
}

function wantedOf({ dense, tables }: LocalParams): readonly Wanted[] {
  return [
    ...dense.layout.entries.map((entry): Wanted => ({ kind: 'dense', name: entry.name, shape: entry.shape, entry })),
    ...tables.map(({ name, dim }): Wanted => ({ kind: 'table', name, dim })),
  ]
}

/** Row i of Paddle's matrix is that of the sign i. */
function put({ dense, tables }: LocalParams, wanted: Wanted, { values, shape }: PaddleWeight): void {
  if (wanted.kind === 'dense') {
    const bytes = dense.bytes()
    new Float32Array(bytes.buffer, bytes.byteOffset, dense.layout.floats).set(values, wanted.entry.at)
    return
  }
  const table = tables.find(({ name }) => name === wanted.name)!
  const [rows = 0] = shape
  for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, rows - from)
    const whole = new Uint8Array(count * table.rowBytes) // optimizer state begins at zero
    writeWeights(values.subarray(from * wanted.dim, (from + count) * wanted.dim), count, table.weightShape, whole)
    table.load(
      BigUint64Array.from({ length: count }, (_, i) => BigInt(from + i)),
      whole,
    )
  }
}

const ROWS_AT_ONCE = 65_536

async function readReference(path: string): Promise<Reference> {
  const wrong = (reason: string, cause?: unknown) =>
    new UserError(`--reference ${shown(path)}: ${reason}`, {
      code: 'PARITY_REFERENCE',
      hint: '{ "losses": [0.69, 0.68], "training": true } or { "predictions": [[[0.1, 0.9]]] } (docs/guide/porting.md#parity)',
      cause,
    })
  const text = await readFile(path, 'utf8').catch((error: Error) => Promise.reject(wrong(error.message, error)))
  const read = ((): Reference => {
    try {
      return JSON.parse(text) as Reference
    } catch (error) {
      throw wrong('it is no JSON', error)
    }
  })()
  const numbers = [...(read.losses ?? []), ...(read.predictions ?? []).flat(2)]
  if (numbers.length === 0 || numbers.some((own) => typeof own !== 'number'))
    throw wrong('it holds neither losses nor predictions')
  return read
}

/** The first batches through the model, as a trainer thread computes them. */
async function compare(loaded: LoadedConfig, model: TracedModel, local: LocalParams, reference: Reference) {
  const { config } = loaded
  const training = reference.training ?? false
  const program = training ? model.train : model.infer
  const batchSize = config.runner.train_batch_size
  const wanted = Math.max(reference.losses?.length ?? 0, reference.predictions?.length ?? 0)
  const session = await ortEngine().compile(program)
  const { slots, metrics, optimizer } = model
  const own = {
    program,
    graph: hostGraph(session),
    params: local,
    slots,
    metrics,
    batchSize,
    clip: optimizer.clip,
    dump: true,
  }
  const step = new HostStep({
    ...own,
    layout: local.dense.layout,
    segments: config.runner.table_segments,
    training,
    seed: config.runner.seed,
  })
  // What an AUC is measured of, which both graphs give; Paddle's come in the same order.
  const names = metrics.flatMap((spec) => (spec.kind === 'auc' ? [`${spec.name}.prediction`] : []))
  const differences = new Map<Difference['what'], Difference>()
  let batches = 0
  let firstStep: FirstStep | undefined
  for await (const batch of batchesOf(loaded, model, batchSize)) {
    if (batches >= wanted) break
    const { loss, fetched = {} } = await step.run(batch)
    const paddles = reference.losses?.[batches]
    if (paddles !== undefined)
      note(differences, { what: 'loss', batch: batches, ours: loss, paddles, distance: Math.abs(loss - paddles) })
    const predictions = reference.predictions?.[batches] ?? []
    for (const [i, values] of predictions.entries()) {
      const ours = [fetched[names[i] ?? '']].flat(9) as number[]
      for (const [k, value] of values.entries())
        note(differences, {
          what: 'prediction',
          batch: batches,
          ours: ours[k] ?? Number.NaN,
          paddles: value,
          distance: Math.abs((ours[k] ?? Number.NaN) - value),
        })
    }
    batches += 1
    if (batches === 1 && training) firstStep = firstStepOf(local)
  }
  await session.close()
  if (batches < wanted)
    throw new UserError(`the reference has ${wanted} batches, the training data ${batches} of ${batchSize} samples`, {
      code: 'PARITY_REFERENCE',
      hint: 'name the same data, in the same order: -o runner.train_data_dir=... runner.train_batch_size=...',
    })
  return { batches, differences: [...differences.values()], firstStep }
}

function note(into: Map<Difference['what'], Difference>, difference: Difference): void {
  const known = into.get(difference.what)
  // What is not a number is farther than anything.
  if (!known || !(difference.distance <= known.distance))
    into.set(difference.what, {
      ...difference,
      distance: Number.isNaN(difference.distance) ? Number.POSITIVE_INFINITY : difference.distance,
    })
}

async function* batchesOf({ config }: LoadedConfig, { slots }: TracedModel, batchSize: number): AsyncGenerator<Batch> {
  const { train: files = [] } = await findDataFiles(config, ['train'])
  const { reader: options, format } = inputOf(config, 'train', files)
  yield* openReader({ ...options, slots, threads: 1, files, format, batchSize, epoch: 0 })
}
