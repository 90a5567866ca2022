/** @file What a step gives: its loss, its metrics, where its time went. */
import type { Norms } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Batch } from '../../data/index.ts'
import { classLabels, type Feed, type Program } from '../../graph/program/index.ts'
import { AUC_THRESHOLDS, type AucHistogram, type MetricSpec, ratioSums } from '../../weights/metric/index.ts'
import { isPlainAuc, type StepBuffers } from './buffers.ts'
import type { SampleCounts } from './sample-counts.ts'

/** Values of one batch: the loss, and the batch means that the model's metrics are made of. */
export interface StepResult {
  readonly loss: number
  readonly means: Readonly<Record<string, number>>
  /** Root mean square of the values of the batch's rows; of some batches. */
  readonly rowRms?: number | undefined
  /** Of some batches. */
  readonly norms?: Norms | undefined
  /** The number of a step of this thread that was applied by now, over all threads and workers; 0: none is known yet. */
  readonly step?: number | undefined
  /** What the batch's metrics and outputs are made of, by name; nested lists. */
  readonly fetched?: Readonly<Record<string, unknown>> | undefined
}

/** Where a step's time goes, in the order it is spent; seconds. */
export interface StepSeconds {
  load: number
  lookup: number
  gather: number
  run: number
  merge: number
  update: number
  /** Only of dynamic models: tracing (with compiling), and computing values that the model reads. */
  trace?: number
  read?: number
}

export function noSeconds(): StepSeconds {
  return { load: 0, lookup: 0, gather: 0, run: 0, merge: 0, update: 0 }
}

export function addSeconds(sum: StepSeconds, more: StepSeconds): void {
  for (const part of Object.keys(more) as (keyof StepSeconds)[]) sum[part] = (sum[part] ?? 0) + (more[part] ?? 0)
}

export function addHistograms(sum: Record<string, AucHistogram>, more: Readonly<Record<string, AucHistogram>>): void {
  for (const [name, counts] of Object.entries(more)) {
    const known = sum[name]
    if (!known) sum[name] = counts.slice()
    else for (let i = 0; i < counts.length; i++) known[i]! += counts[i]!
  }
}

export interface MeasureOptions {
  readonly program: Program
  readonly metrics: readonly MetricSpec[]
  /** Feeds that the loss takes for labels from 0 to 1. */
  readonly labels?: readonly Feed[] | undefined
  /** Results carry what was fetched. @default false */
  readonly dump?: boolean | undefined
  /** Counts what the kernel does not. */
  readonly counts: SampleCounts
}

/** Reads loss and mean metrics, adds to the histograms; stops on a loss that is not a number before it reaches the weights. */
export function measureStep(
  { program, metrics, labels = [], dump, counts }: MeasureOptions,
  buffers: StepBuffers,
  { epoch, index, size }: Batch,
): StepResult {
  const { fetches, histograms, workspace } = buffers
  for (const label of labels) checkLabels(label, buffers, { epoch, index, size }, 1)
  const scalar = (name: string) => new Float32Array(workspace.buffer, fetches.get(name)!.at, 1)[0]!
  // A graph without a loss is only evaluated.
  const loss = fetches.has('loss') ? scalar('loss') : 0
  if (!Number.isFinite(loss)) {
    for (const { feed, classes } of classLabels(program))
      checkLabels(feed, buffers, { epoch, index, size }, classes - 1)
    throw lossNotFinite(loss, epoch, index)
  }
  const means: Record<string, number> = {}
  for (const spec of metrics) {
    if (spec.kind === 'mean') means[spec.name] = scalar(spec.value)
    else if (spec.kind === 'ratio') {
      const [above, below] = ratioSums(spec.name)
      means[above] = scalar(spec.above)
      means[below] = scalar(spec.below)
    } else if (!isPlainAuc(spec)) counts.add(spec, buffers, { epoch, index, size })
    else {
      const prediction = program.fetches.find(({ name }) => name === spec.prediction)!
      const columns = prediction.shape.length > 1 ? (prediction.shape.at(-1) as number) : 1
      const at = fetches.get(spec.prediction)!.at + 4 * (columns - 1)
      workspace.kernel.histogram(
        at,
        columns,
        fetches.get(spec.label)!.at,
        size,
        AUC_THRESHOLDS,
        histograms.get(spec.name)!.at,
      )
    }
  }
  return { loss, means, fetched: dump ? fetchedValues(program, buffers, size) : undefined }
}

/** What the batch's metrics and outputs are made of, by name. */
function fetchedValues(program: Program, buffers: StepBuffers, size: number): Record<string, unknown> {
  const fetches = program.fetches.filter(({ name }) => !/^(loss$|grad:|state:)/.test(name))
  const found = fetches.flatMap(({ name, shape, dtype }) => {
    const region = buffers.fetches.get(name)
    const dims = shape.map((dim) => (dim === 'B' ? size : dim))
    if (!region || dtype !== 'float32' || dims.some((dim) => typeof dim !== 'number')) return []
    const length = (dims as number[]).reduce((product, dim) => product * dim, 1)
    const values = [...new Float32Array(buffers.workspace.buffer, region.at, length)]
    return [[name.replace(/^metric:/, ''), nested(values, dims as number[])]]
  })
  return Object.fromEntries(found)
}

/** Values as lists in lists, as the dimensions say. */
function nested(values: readonly number[], dims: readonly number[]): unknown {
  const [, ...inner] = dims
  if (inner.length === 0) return values
  const step = inner.reduce((product, dim) => product * dim, 1)
  return Array.from({ length: dims[0]! }, (_, i) => nested(values.slice(i * step, (i + 1) * step), inner))
}

/** One comparison a sample; what is not 0 to 1 makes the loss fall without end, what is no class makes it no number. */
function checkLabels(
  { name, shape, dtype }: Feed,
  { feeds, workspace }: StepBuffers,
  { epoch, index, size }: Pick<Batch, 'epoch' | 'index' | 'size'>,
  most: number,
): void {
  const region = feeds.get(name)
  const width = shape
    .slice(1)
    .reduce<number>((product, dim) => product * (typeof dim === 'number' ? dim : Number.NaN), 1)
  if (!region || !(width > 0) || (dtype !== 'float32' && dtype !== 'int64')) return
  const values = new (dtype === 'int64' ? BigInt64Array : Float32Array)(workspace.buffer, region.at, size * width)
  const at = values.findIndex((value: number | bigint) => !(value >= 0 && value <= most))
  if (at >= 0) throw labelOutside(name, Number(values[at]), most, { epoch, index, sample: Math.floor(at / width) })
}

function labelOutside(
  name: string,
  value: number,
  most: number,
  { epoch, index, sample }: { readonly epoch: number; readonly index: number; readonly sample: number },
): UserError {
  return new UserError(
    `A label ${name} is ${value}; this loss takes labels from 0 to ${most}. It is sample ${sample} of batch ${index}, epoch ${epoch}, from 0.`,
    {
      code: 'DATA_LABEL',
      hint: `In slot text find it with: grep -nE '(^| )${name}:${value}( |$)' FILES
Mend the data, or train with a loss for such labels (softmax for as many classes, square error for ratings).`,
    },
  )
}

function lossNotFinite(loss: number, epoch: number, index: number): UserError {
  return new UserError(`the loss became ${loss} at epoch ${epoch}, batch ${index}; its gradients were not applied`, {
    code: 'LOSS_NOT_FINITE',
    hint: 'Train again with --debug-nan: it names the op and the first values that went wrong. Often the learning rate is too high, gradients want clipping, or the dense features of that batch hold extreme values.',
  })
}
