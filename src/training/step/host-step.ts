/** @file One step on the host: load a batch, pull, run the graph, push. It does not know where the weights live. */
import { performance } from 'node:perf_hooks'
import type { Tracer } from '../../base/trace/index.ts'
import { deriveSeed, isDebugNan } from '../../base/util/index.ts'
import { type Batch, releaseBatch, type Slot } from '../../data/index.ts'
import type { TensorData, TensorView } from '../../graph/engine/index.ts'
import { binaryLabels, type Program, RANDOM_SEED } from '../../graph/program/index.ts'
import { AUC_BUCKETS, type AucHistogram } from '../../weights/metric/index.ts'
import type { Clip } from '../../weights/optim/index.ts'
import type { BatchParams, Params } from '../../weights/params/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import {
  type BufferOptions,
  bindViews,
  type Capacity,
  type DenseRegion,
  openBuffers,
  type StepBuffers,
  type StepViews,
} from './buffers.ts'
import { clipGradients } from './clip.ts'
import { refuseNotFinite } from './debug-nan.ts'
import { normsOf } from './norms.ts'
import { type PushedPart, pushedPart } from './pushed-part.ts'
import { countShowClick, type DistinctBatch, distinctSigns, type LoadedBatch, mergeGradients } from './rows.ts'
import { SampleCounts } from './sample-counts.ts'
import { sampleValues } from './show-click.ts'
import type { StepGraph } from './step-graph.ts'
import { type MeasureOptions, measureStep, noSeconds, type StepResult, type StepSeconds } from './step-result.ts'
import { type StepTimes, StepTrace } from './step-trace.ts'

export interface HostStepOptions extends Omit<BufferOptions, 'capacity' | 'window'> {
  readonly graph: StepGraph
  readonly params: Params
  /** Where tables live on servers: how many there are, and into how many shards signs fall. */
  readonly placement?: Placement | undefined
  readonly batchSize: number
  /** Training updates weights and creates rows; evaluation does neither. */
  readonly training: boolean
  /** The job's seed: with epoch and batch it gives each step its random numbers. */
  readonly seed: number
  readonly clip?: Clip | undefined
  /** Results carry what was fetched. @default false */
  readonly dump?: boolean | undefined
  /** Gets spans of some steps. @default nobody does */
  readonly tracer?: Tracer | undefined
}

/** A batch whose rows and weights are on their way. */
export interface PreparedStep {
  readonly batch: Batch
  readonly distinct: DistinctBatch
  readonly share: BatchParams
  readonly pulled: void | Promise<void>
  readonly traced?: (Pick<StepTimes, 'begun' | 'loaded' | 'asked'> & { readonly trace: StepTrace }) | undefined
}

/** What a phase runs batch by batch. */
export interface Step<Prepared extends { readonly pulled: void | Promise<void> } = PreparedStep> {
  readonly seconds: StepSeconds
  prepare(batch: Batch): Prepared
  complete(prepared: Prepared): Promise<StepResult>
  histograms(): Record<string, AucHistogram>
  /** Of metrics by group, what was counted since the last reset; see GroupedAuc. */
  groups(): Record<string, Float64Array>
  reset(): void
}

export class HostStep {
  readonly seconds = noSeconds()
  readonly #options: HostStepOptions
  readonly #sparseSlots: number
  readonly #pushed: PushedPart | undefined
  readonly #measure: MeasureOptions
  readonly #counts: SampleCounts
  #buffers: StepBuffers
  #last: LoadedBatch | undefined

  constructor(options: HostStepOptions) {
    this.#options = options
    this.#sparseSlots = options.slots.filter(({ kind }) => kind === 'sparse').length
    this.#pushed = pushedPart(options.program, options.layout)
    const { program, metrics, slots, dump } = options
    this.#counts = new SampleCounts(program, metrics, slots)
    this.#measure = { program, metrics, dump, labels: binaryLabels(program), counts: this.#counts }
    this.#buffers = openStepBuffers(options, {
      samples: options.batchSize,
      signs: options.batchSize * Math.max(1, this.#sparseSlots),
      lengths: {},
    })
  }

  /** A whole step. */
  run(batch: Batch): Promise<StepResult> {
    return this.complete(this.prepare(batch))
  }

  /** Loads a batch and asks for what it needs. One batch at a time: complete it before the next is prepared. */
  prepare(batch: Batch): PreparedStep {
    const { params, training, segments } = this.#options
    const started = performance.now()
    const loaded = this.#load(batch)
    releaseBatch(batch)
    const afterLoad = performance.now()
    const distinct = distinctSigns(this.#buffers, loaded, this.#sparseSlots, segments)
    const { slice, size } = batch
    const whole = slice && { slices: slice.count, batchSamples: Math.round(size / slice.share) }
    const share = { ...this.#share(distinct), ...whole }
    const trace = training ? StepTrace.begin(this.#options.tracer) : undefined
    if (trace) params.traced?.(trace.pull)
    const pulled = params.pull(share, training)
    const asked = performance.now()
    this.seconds.load += (afterLoad - started) / 1000
    this.seconds.lookup += (asked - afterLoad) / 1000
    return { batch, distinct, share, pulled, traced: trace && { trace, begun: started, loaded: afterLoad, asked } }
  }

  async complete({ batch, distinct, share, pulled, traced }: PreparedStep): Promise<StepResult> {
    const { params, training, clip, layout, graph } = this.#options
    const started = performance.now()
    await pulled
    await params.refresh?.(share)
    const afterLookup = performance.now()
    graph.expand(this.#buffers, distinct)
    const afterGather = performance.now()
    await graph.run(this.#buffers, distinct, () => this.#views(distinct))
    this.#last = distinct
    const afterRun = performance.now()
    const measured = this.#measured(batch, distinct)
    const isLooked = training && !graph.trainsRows && batch.index % LOOK_AT_ROWS_EVERY === 0
    const looked = isLooked ? { ...measured, rowRms: rowRms(share) } : measured
    const part = this.#pushed ? { ...share, ...this.#pushed(share) } : share
    const pushed = graph.trainsRows ? { ...part, tables: [] } : part
    if (training) params.begin?.(pushed)
    if (training && !graph.trainsRows) {
      mergeGradients(this.#buffers, distinct, batch.slice?.share)
      countShowClick(this.#buffers, distinct, distinct.tables)
    }
    const afterMerge = performance.now()
    const isMeasured = training && !graph.trainsRows && batch.index % MEASURE_NORMS_EVERY === 0
    const { workspace } = this.#buffers
    const norms = isMeasured ? { norms: normsOf(share, layout, workspace.kernel, workspace.buffer) } : {}
    let step = 0
    if (training) {
      if (clip) clipGradients(clip, this.#buffers.workspace.kernel, share, layout)
      if (traced) params.traced?.(traced.trace.push)
      step = await params.push(pushed)
    }
    const done = performance.now()
    const times = { pulled: afterLookup, gathered: afterGather, computed: afterRun, merged: afterMerge, done }
    traced?.trace.end(batch, { ...traced, ...times })
    this.seconds.lookup += (afterLookup - started) / 1000
    this.seconds.gather += (afterGather - afterLookup) / 1000
    this.seconds.run += (afterRun - afterGather) / 1000
    this.seconds.merge += (afterMerge - afterRun) / 1000
    this.seconds.update += (done - afterMerge) / 1000
    return { ...looked, ...norms, step }
  }

  /** With --debug-nan what is not finite is traced to the op that made it, gradients too. */
  #measured(batch: Batch, loaded: LoadedBatch): StepResult {
    if (!isDebugNan()) return measureStep(this.#measure, this.#buffers, batch)
    const { inputs, outputs } = this.#views(loaded)
    refuseNotFinite(this.#options.program, inputs, outputs, batch)
    return measureStep(this.#measure, this.#buffers, batch)
  }

  /** The fetch `value` for a batch, which stays the caller's; nothing is updated. What a dynamic graph reads. */
  async read(batch: Batch): Promise<TensorData> {
    const { params, segments, graph } = this.#options
    const loaded = this.#load(batch)
    const distinct = distinctSigns(this.#buffers, loaded, this.#sparseSlots, segments)
    await params.pull(this.#share(distinct), false)
    graph.expand(this.#buffers, distinct)
    await graph.run(this.#buffers, distinct, () => this.#views(distinct))
    const { outputs } = this.#views(distinct)
    return outputs['value']!.data.slice()
  }

  /** What the last batch gave, by the names of fetches, as copies. */
  outputs(names: readonly string[]): Record<string, TensorView> {
    if (!this.#last) throw new Error('internal: no batch was run')
    const { outputs } = this.#views(this.#last)
    return Object.fromEntries(
      names.map((name) => [name, { data: outputs[name]!.data.slice() as TensorData, dims: outputs[name]!.dims }]),
    )
  }

  async close(): Promise<void> {
    await this.#options.graph.close()
  }

  /** The AUC histograms since the last reset, as copies. */
  histograms(): Record<string, AucHistogram> {
    const { histograms } = this.#buffers
    const plain = [...histograms].map(([name, { at }]) => [
      name,
      new Uint32Array(this.#buffer, at, AUC_BUCKETS).slice(),
    ])
    return { ...Object.fromEntries(plain), ...this.#counts.histograms() }
  }

  groups(): Record<string, Float64Array> {
    return this.#counts.groups()
  }

  /** Metrics and times start anew. */
  reset(): void {
    for (const phase of Object.keys(this.seconds) as (keyof StepSeconds)[]) this.seconds[phase] = 0
    for (const { at } of this.#buffers.histograms.values()) new Uint32Array(this.#buffer, at, AUC_BUCKETS).fill(0)
    this.#counts.reset()
  }

  #views({ samples, lengths }: LoadedBatch): StepViews {
    const { program, layout } = this.#options
    return bindViews(program, this.#buffers, layout, samples, lengths)
  }

  get #buffer(): ArrayBuffer {
    return this.#buffers.workspace.buffer
  }

  /** Copies the batch into the workspace. */
  #load(batch: Batch): LoadedBatch {
    const signs = batch.pieces.reduce((sum, { chunk, from, to }) => sum + chunk.starts[to]! - chunk.starts[from]!, 0)
    const loaded = { samples: batch.size, signs, lengths: this.#sequenceLengths(batch) }
    this.#fit(loaded)
    const slots = this.#sparseSlots
    const allSigns = new BigUint64Array(this.#buffer, this.#buffers.signs.at, signs)
    const counts = new Uint32Array(this.#buffer, this.#buffers.counts.at, batch.size * slots)
    const feeds = this.#denseFeeds(batch.size)
    let [sample, sign] = [0, 0]
    for (const { chunk, from, to } of batch.pieces) {
      const [first, last] = [chunk.starts[from]!, chunk.starts[to]!]
      allSigns.set(chunk.signs.subarray(first, last), sign)
      counts.set(chunk.counts.subarray(from * slots, to * slots), sample * slots)
      for (const [d, feed] of feeds.entries()) {
        // The reader made both of one dtype; the union of array types hides it.
        if (feed)
          feed.view.set(chunk.dense[d]!.subarray(from * feed.width, to * feed.width) as never, sample * feed.width)
      }
      sample += to - from
      sign += last - first
    }
    for (const { showClick, showClickBy } of this.#buffers.groups) {
      if (!showClick || !this.#options.training) continue
      const { slots } = this.#options
      const values = ({ at }: { readonly at: number }) => new Float32Array(this.#buffer, at, batch.size)
      sampleValues(batch, slots, showClickBy?.show, 1, values(showClick.shows))
      sampleValues(batch, slots, showClickBy?.click, 0, values(showClick.clicks))
    }
    const random = this.#buffers.feeds.get(RANDOM_SEED)
    if (random) new Int32Array(this.#buffer, random.at, 1)[0] = stepSeed(this.#options.seed, batch)
    return loaded
  }

  /** Views of the feeds that dense slots fill, in slot order; undefined for one the program does not use. */
  #denseFeeds(samples: number) {
    return this.#options.slots.flatMap((slot) => {
      if (slot.kind === 'sparse') return []
      const region = this.#buffers.feeds.get(slot.name)
      const Values = slot.dtype === 'int64' ? BigInt64Array : Float32Array
      return [region && { view: new Values(this.#buffer, region.at, samples * slot.width), width: slot.width }]
    })
  }

  /** Padded length of each sequence slot: a power of two, so that few sizes are bound. */
  #sequenceLengths(batch: Batch): Record<string, number> {
    const lengths: Record<string, number> = {}
    const sparse = this.#options.slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
    for (const { pooling, slots, shape } of this.#options.program.rows) {
      if (pooling !== 'sequence' || typeof shape[1] !== 'string') continue
      const slot = sparse.indexOf(slots[0]!)
      let most = 1
      for (const { chunk, from, to } of batch.pieces) {
        for (let i = from; i < to; i++) most = Math.max(most, chunk.counts[i * sparse.length + slot]!)
      }
      // Sequences that share a symbol are padded alike.
      lengths[shape[1]] = Math.max(lengths[shape[1]] ?? 1, 2 ** Math.ceil(Math.log2(most)))
    }
    return lengths
  }

  /** Opens larger buffers when the batch does not fit; what the histograms hold moves along. */
  #fit({ samples, signs, lengths }: LoadedBatch): void {
    const { capacity } = this.#buffers
    const longer = Object.entries(lengths).some(([symbol, length]) => length > (capacity.lengths[symbol] ?? 1))
    if (samples <= capacity.samples && signs <= capacity.signs && !longer) return
    const kept = this.histograms()
    const grown: Record<string, number> = { ...capacity.lengths }
    for (const [symbol, length] of Object.entries(lengths)) grown[symbol] = Math.max(length, grown[symbol] ?? 1)
    const room = signs <= capacity.signs ? capacity.signs : Math.ceil(signs * 1.5)
    this.#buffers = openStepBuffers(this.#options, {
      samples: Math.max(samples, capacity.samples),
      signs: room,
      lengths: grown,
    })
    for (const [name, { at }] of this.#buffers.histograms)
      new Uint32Array(this.#buffer, at, AUC_BUCKETS).set(kept[name]!)
  }

  #share({ tables, samples }: DistinctBatch): BatchParams {
    const { weights, gradients } = this.#buffers
    const { floats } = this.#options.layout
    const view = ({ at, outside = this.#buffer }: DenseRegion) => new Float32Array(outside, at, floats)
    return { samples, tables, weights: view(weights), gradients: view(gradients) }
  }
}

/** Batches between two looks at how large the values of rows are. */
const LOOK_AT_ROWS_EVERY = 16
/** And at the norms of all that a batch has: some tenths of a millisecond each time. */
const MEASURE_NORMS_EVERY = 64

function rowRms({ tables }: BatchParams): number | undefined {
  let [sum, values] = [0, 0]
  for (const { rows } of tables) {
    for (let i = 0; i < rows.length; i++) sum += rows[i]! * rows[i]!
    values += rows.length
  }
  return values > 0 ? Math.sqrt(sum / values) : undefined
}

/** Buffers with the constants the kernels read: which slots a group wants, where a slot goes. */
function openStepBuffers(options: HostStepOptions, capacity: Capacity): StepBuffers {
  const lengths = {
    ...Object.fromEntries(symbolsOf(options.program).map((symbol) => [symbol, 1])),
    ...capacity.lengths,
  }
  const { servers, shards, tableServers = servers }: Placement = options.placement ?? { servers: 1, shards: 1 }
  const segments = servers * options.segments
  const { training, clip, params, program, layout } = options
  // Clipping is done by the workspace's kernel, which sees nothing outside; gradients of part of the weights stay apart from others'.
  const window = training && !clip && !pushedPart(program, layout) ? params.window : undefined
  const buffers = openBuffers({ ...options, segments, capacity: { ...capacity, lengths }, window })
  const { buffer, kernel } = buffers.workspace
  kernel.setPlacement(tableServers, shards)
  for (const { slots, wanted, showClick } of buffers.groups) {
    for (const slot of slots) new Uint8Array(buffer, wanted.at, wanted.bytes)[slot] = 1
    if (showClick) new Float32Array(buffer, showClick.numbers.at, slots.length).set(slotNumbers(options.slots, slots))
  }
  for (const { targets, targetsAt } of buffers.rows) new Int32Array(buffer, targetsAt.at, targets.length).set(targets)
  return buffers
}

/** A slot's name where that is a number, else its place among the sparse slots. */
function slotNumbers(all: readonly Slot[], slots: readonly number[]): number[] {
  const names = all.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  return slots.map((slot) => (/^\d+$/.test(names[slot]!) ? Number(names[slot]) : slot))
}

function symbolsOf({ rows }: Program): string[] {
  return rows.flatMap(({ pooling, shape }) =>
    pooling === 'sequence' && typeof shape[1] === 'string' ? [shape[1]] : [],
  )
}

/** A pure function of (seed, epoch, batch): a resumed or repeated step draws the same numbers. */
function stepSeed(seed: number, { epoch, index }: Batch): number {
  return Number(BigInt.asIntN(32, deriveSeed(seed, `step ${epoch}.${index}`)))
}
