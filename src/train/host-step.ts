/** @file One step on the host: load a batch, pull, run the graph, push. It does not know where the weights live. */
import { performance } from 'node:perf_hooks'
import { type Batch, releaseBatch, type Slot } from '../data/index.ts'
import type { BoundSession, Session, TensorData, TensorView } from '../engine/index.ts'
import { AUC_BUCKETS, AUC_THRESHOLDS, type MetricSpec } from '../metric/index.ts'
import type { Clip } from '../optim/index.ts'
import type { DenseLayout, Params, ParamsShare } from '../params/index.ts'
import { type Program, RANDOM_SEED } from '../program/index.ts'
import type { Placement } from '../ps/index.ts'
import { deriveSeed, UserError } from '../util/index.ts'
import { bindViews, type Capacity, type DenseRegion, openBuffers, type StepBuffers } from './buffers.ts'
import { clipGradients } from './clip.ts'
import { type PushedPart, pushedPart } from './pushed-part.ts'
import { countShown, type DistinctBatch, distinctSigns, expandRows, type LoadedBatch, mergeGradients } from './rows.ts'
import { type ShownSlots, sampleValues } from './shown.ts'

export interface HostStepOptions {
  readonly program: Program
  readonly session: Session
  readonly params: Params
  readonly slots: readonly Slot[]
  readonly metrics: readonly MetricSpec[]
  readonly layout: DenseLayout
  readonly segments: number
  /** Where tables live on servers: how many there are, and into how many shards signs fall. */
  readonly placement?: Placement
  readonly batchSize: number
  /** Training updates weights and creates rows; evaluation does neither. */
  readonly training: boolean
  /** The job's seed: with epoch and batch it gives each step its random numbers. */
  readonly seed: number
  readonly clip?: Clip
  /** Tables with accessors, and where their show and click come from. @default none */
  readonly shown?: Readonly<Record<string, ShownSlots>>
  /** Results carry what was fetched. @default false */
  readonly dump?: boolean
}

/** A batch whose rows and weights are on their way. */
export interface PreparedStep {
  readonly batch: Batch
  readonly distinct: DistinctBatch
  readonly share: ParamsShare
  readonly pulled: void | Promise<void>
}

/** Values of one batch: the loss and the model's mean metrics. */
export interface StepResult {
  readonly loss: number
  readonly means: Readonly<Record<string, number>>
  /** What the batch's metrics and outputs are made of, by name; nested lists. */
  readonly fetched?: Readonly<Record<string, unknown>>
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

/** What a phase runs batch by batch. */
export interface Step<Prepared extends { readonly pulled: void | Promise<void> } = PreparedStep> {
  readonly seconds: StepSeconds
  prepare(batch: Batch): Prepared
  complete(prepared: Prepared): Promise<StepResult>
  histograms(): Record<string, Uint32Array>
  reset(): void
}

export class HostStep {
  readonly seconds: StepSeconds = { load: 0, lookup: 0, gather: 0, run: 0, merge: 0, update: 0 }
  readonly #options: HostStepOptions
  readonly #sparseSlots: number
  readonly #pushed: PushedPart | undefined
  #buffers: StepBuffers
  #bound = new Map<string, BoundSession>()
  #last: LoadedBatch | undefined

  constructor(options: HostStepOptions) {
    this.#options = options
    this.#sparseSlots = options.slots.filter(({ kind }) => kind === 'sparse').length
    this.#pushed = pushedPart(options.program, options.layout)
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
    const { params, training, segments, placement } = this.#options
    const started = performance.now()
    const loaded = this.#load(batch)
    releaseBatch(batch)
    const afterLoad = performance.now()
    const distinct = distinctSigns(this.#buffers, loaded, this.#sparseSlots, segments, placement?.servers)
    const { slice, size } = batch
    const whole = slice && { slices: slice.count, batchSamples: Math.round(size / slice.share) }
    const share = { ...this.#share(distinct), ...whole }
    const pulled = params.pull(share, training)
    this.seconds.load += (afterLoad - started) / 1000
    this.seconds.lookup += (performance.now() - afterLoad) / 1000
    return { batch, distinct, share, pulled }
  }

  async complete({ batch, distinct, share, pulled }: PreparedStep): Promise<StepResult> {
    const { params, training, clip, layout } = this.#options
    const started = performance.now()
    await pulled
    await params.refresh?.(share)
    const afterLookup = performance.now()
    expandRows(this.#buffers, distinct)
    const afterGather = performance.now()
    await this.#session(distinct).run()
    this.#last = distinct
    const afterRun = performance.now()
    const result = this.#measure(batch)
    const pushed = this.#pushed ? { ...share, ...this.#pushed.of(share) } : share
    if (training) {
      params.begin?.(pushed)
      mergeGradients(this.#buffers, distinct, batch.slice?.share)
      countShown(this.#buffers, distinct, distinct.tables)
    }
    const afterMerge = performance.now()
    if (training) {
      if (clip) clipGradients(clip, this.#buffers.workspace.kernel, share, layout)
      await params.push(pushed)
    }
    this.seconds.lookup += (afterLookup - started) / 1000
    this.seconds.gather += (afterGather - afterLookup) / 1000
    this.seconds.run += (afterRun - afterGather) / 1000
    this.seconds.merge += (afterMerge - afterRun) / 1000
    this.seconds.update += (performance.now() - afterMerge) / 1000
    return result
  }

  /** The fetch `value` for a batch, which stays the caller's; nothing is updated. What a dynamic graph reads. */
  async read(batch: Batch): Promise<TensorData> {
    const { params, segments, placement, program, layout } = this.#options
    const loaded = this.#load(batch)
    const distinct = distinctSigns(this.#buffers, loaded, this.#sparseSlots, segments, placement?.servers)
    await params.pull(this.#share(distinct), false)
    expandRows(this.#buffers, distinct)
    await this.#session(distinct).run()
    const { outputs } = bindViews(program, this.#buffers, layout, loaded.samples, loaded.lengths)
    return outputs['value']!.data.slice()
  }

  /** What the last batch gave, by the names of fetches, as copies. */
  outputs(names: readonly string[]): Record<string, TensorView> {
    const { program, layout } = this.#options
    if (!this.#last) throw new Error('internal: no batch was run')
    const { outputs } = bindViews(program, this.#buffers, layout, this.#last.samples, this.#last.lengths)
    return Object.fromEntries(
      names.map((name) => [name, { data: outputs[name]!.data.slice() as TensorData, dims: outputs[name]!.dims }]),
    )
  }

  async close(): Promise<void> {
    await this.#options.session.close()
  }

  /** The AUC histograms since the last reset, as copies. */
  histograms(): Record<string, Uint32Array> {
    const { histograms } = this.#buffers
    return Object.fromEntries(
      [...histograms].map(([name, { at }]) => [name, new Uint32Array(this.#buffer, at, AUC_BUCKETS).slice()]),
    )
  }

  /** Metrics and times start anew. */
  reset(): void {
    for (const phase of Object.keys(this.seconds) as (keyof StepSeconds)[]) this.seconds[phase] = 0
    for (const { at } of this.#buffers.histograms.values()) new Uint32Array(this.#buffer, at, AUC_BUCKETS).fill(0)
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
    for (const { shown, shownBy } of this.#buffers.groups) {
      if (!shown || !this.#options.training) continue
      const { slots } = this.#options
      const values = ({ at }: { readonly at: number }) => new Float32Array(this.#buffer, at, batch.size)
      sampleValues(batch, slots, shownBy?.show, 1, values(shown.shows))
      sampleValues(batch, slots, shownBy?.click, 0, values(shown.clicks))
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
    this.#bound.clear()
    for (const [name, { at }] of this.#buffers.histograms)
      new Uint32Array(this.#buffer, at, AUC_BUCKETS).set(kept[name]!)
  }

  #share({ tables, samples }: DistinctBatch): ParamsShare {
    const { weights, gradients } = this.#buffers
    const { floats } = this.#options.layout
    const view = ({ at, outside = this.#buffer }: DenseRegion) => new Float32Array(outside, at, floats)
    return { samples, tables, weights: view(weights), gradients: view(gradients) }
  }

  #session({ samples, lengths }: LoadedBatch): BoundSession {
    const key = JSON.stringify([samples, lengths])
    const known = this.#bound.get(key)
    if (known) return known
    const { program, layout, session } = this.#options
    const { inputs, outputs } = bindViews(program, this.#buffers, layout, samples, lengths)
    const bound = session.bind(inputs, outputs)
    if (this.#bound.size >= BOUND_SIZES) this.#bound.delete(this.#bound.keys().next().value!)
    this.#bound.set(key, bound)
    return bound
  }

  #fetched(size: number): Record<string, unknown> {
    const shown = this.#options.program.fetches.filter(({ name }) => !/^(loss$|grad:|state:)/.test(name))
    const found = shown.flatMap(({ name, shape, dtype }) => {
      const region = this.#buffers.fetches.get(name)
      const dims = shape.map((dim) => (dim === 'B' ? size : dim))
      if (!region || dtype !== 'float32' || dims.some((dim) => typeof dim !== 'number')) return []
      const length = (dims as number[]).reduce((product, dim) => product * dim, 1)
      const values = [...new Float32Array(this.#buffer, region.at, length)]
      return [[name.replace(/^metric:/, ''), nested(values, dims as number[])]]
    })
    return Object.fromEntries(found)
  }

  /** Reads loss and mean metrics, adds to the histograms; stops on a loss that is not a number before it reaches the weights. */
  #measure({ epoch, index, size }: Batch): StepResult {
    const { fetches, histograms } = this.#buffers
    const scalar = (name: string) => new Float32Array(this.#buffer, fetches.get(name)!.at, 1)[0]!
    // A graph without a loss is only evaluated.
    const loss = fetches.has('loss') ? scalar('loss') : 0
    if (!Number.isFinite(loss)) throw lossNotFinite(loss, epoch, index)
    const means: Record<string, number> = {}
    for (const spec of this.#options.metrics) {
      if (spec.kind === 'mean') means[spec.name] = scalar(spec.value)
      else {
        const prediction = this.#options.program.fetches.find(({ name }) => name === spec.prediction)!
        const columns = prediction.shape.length > 1 ? (prediction.shape.at(-1) as number) : 1
        const at = fetches.get(spec.prediction)!.at + 4 * (columns - 1)
        this.#buffers.workspace.kernel.histogram(
          at,
          columns,
          fetches.get(spec.label)!.at,
          size,
          AUC_THRESHOLDS,
          histograms.get(spec.name)!.at,
        )
      }
    }
    return { loss, means, ...(this.#options.dump && { fetched: this.#fetched(size) }) }
  }
}

/** Values as lists in lists, as the dimensions say. */
function nested(values: readonly number[], dims: readonly number[]): unknown {
  const [, ...inner] = dims
  if (inner.length === 0) return values
  const step = inner.reduce((product, dim) => product * dim, 1)
  return Array.from({ length: dims[0]! }, (_, i) => nested(values.slice(i * step, (i + 1) * step), inner))
}

const BOUND_SIZES = 16 // batch sizes and sequence lengths bound at a time

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
  const buffers = openBuffers({ ...options, segments, capacity: { ...capacity, lengths }, ...(window && { window }) })
  const { buffer, kernel } = buffers.workspace
  kernel.setPlacement(tableServers, shards)
  for (const { slots, wanted, shown } of buffers.groups) {
    for (const slot of slots) new Uint8Array(buffer, wanted.at, wanted.bytes)[slot] = 1
    if (shown) new Float32Array(buffer, shown.numbers.at, slots.length).set(slotNumbers(options.slots, slots))
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

function lossNotFinite(loss: number, epoch: number, index: number): UserError {
  return new UserError(`the loss became ${loss} at epoch ${epoch}, batch ${index}; its gradients were not applied`, {
    code: 'LOSS_NOT_FINITE',
    hint: 'lower hyper_parameters.optimizer.learning_rate, clip gradients, or look for extreme values in the dense features of that batch',
  })
}
