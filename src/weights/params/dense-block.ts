/** @file Dense weights, their optimizer state and the program's state in one shared memory, for all threads of a process. */
import {
  attachDense,
  createDenseMemory,
  DENSE_BASE,
  type DenseKernel,
  type KernelMemory,
  MOST_DENSE_BYTES,
} from '../../base/kernel/index.ts'
import { sizeText, UserError } from '../../base/util/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { kernelRule, type OptimizerSpec, type StepFactors } from '../optim/index.ts'
import {
  type DenseEntry,
  type DenseLayout,
  denseLayout,
  initialDense,
  type Slice,
  sliceLayout,
} from './dense-layout.ts'

/** The block as plain data plus its shared memory: goes to other threads by postMessage. */
export interface DenseHandle {
  readonly layout: DenseLayout
  readonly optimizer: OptimizerSpec
  readonly memory: KernelMemory
  /** Room for whole gradients of every thread: threads may push together. */
  readonly together: boolean
  readonly wholeGradientsAt: number
  /** One update at a time. Without it, threads write over each other's updates: faster by little, worse by more. */
  readonly locked: boolean
}

export interface DenseOptions {
  readonly program: Program
  readonly optimizer: OptimizerSpec
  readonly seed: number
  readonly threads: number
  readonly locked?: boolean | undefined
  /** Threads push slices of one batch together (pushTogether). @default false */
  readonly together?: boolean | undefined
  /** Holds only these floats of the layout: one server's part. @default all */
  readonly slice?: Slice | undefined
}

const HEADER_BYTES = 64 + 4 * 256 // lock, step count, a barrier of threads; samples of each thread's slice
/** Gradients are copied in and applied piece by piece: a piece with its weights and state stays in the cache. */
const CHUNK_FLOATS = 16 * 1024
const LOCK = 0
const STEPS = 1
const ARRIVED = 2
const ROUNDS = 3
const OTHERS = 4
const SAMPLES = 16

/** A new block with every weight at its initial value. */
export function createDense({
  program,
  optimizer,
  seed,
  threads,
  locked = true,
  together = false,
  slice,
}: DenseOptions): DenseHandle {
  const whole = denseLayout(program, optimizer)
  const { from, to } = slice ?? { from: 0, to: whole.floats }
  const layout = slice ? sliceLayout(whole, from, to) : whole
  const { states, stateInit } = kernelRule(optimizer)
  const wholeGradients = HEADER_BYTES + 4 * layout.floats * (1 + states) + 4 * CHUNK_FLOATS * threads
  const bytes = wholeGradients + (together ? 4 * layout.floats * threads : 0)
  if (!(bytes <= MOST_DENSE_BYTES)) throw tooLarge(layout, bytes)
  const memory = createDenseMemory(bytes)
  const values = new Float32Array(memory.buffer, DENSE_BASE + HEADER_BYTES, layout.floats * (1 + states))
  values.set(initialDense(program, whole, seed, { from, to }))
  if (states > 0) values.fill(stateInit, layout.floats, 2 * layout.floats)
  return { layout, optimizer, memory, locked, together, wholeGradientsAt: DENSE_BASE + wholeGradients }
}

export interface DensePushOptions {
  /** Only these weights. @default all */
  readonly only?: ReadonlySet<string> | undefined
  /** Where all weights go as they are then. */
  readonly into?: Float32Array | undefined
  /** They go there as they will be about so many steps later: see pullAhead. @default 0 */
  readonly ahead?: number | undefined
}

/** The block as one thread uses it. */
export class DenseBlock {
  readonly layout: DenseLayout
  readonly #handle: DenseHandle
  readonly #kernel: DenseKernel
  readonly #header: Int32Array
  readonly #weights: Float32Array
  readonly #gradients: Float32Array
  readonly #thread: number
  readonly #runs: readonly Run[]
  readonly #partRuns = new WeakMap<ReadonlySet<string>, readonly Run[]>()

  constructor(handle: DenseHandle, thread: number) {
    const { layout, optimizer, memory } = handle
    const rule = kernelRule(optimizer)
    const base = DENSE_BASE + HEADER_BYTES
    this.layout = layout
    this.#handle = handle
    this.#kernel = attachDense(memory, { ...rule, clocked: false })
    this.#header = new Int32Array(memory.buffer, DENSE_BASE, HEADER_BYTES / 4)
    this.#weights = new Float32Array(memory.buffer, base, layout.floats)
    this.#thread = thread
    const scratch = base + 4 * layout.floats * (1 + rule.states)
    this.#gradients = new Float32Array(memory.buffer, scratch + 4 * CHUNK_FLOATS * thread, CHUNK_FLOATS)
    this.#runs = mergeRuns(layout.entries.filter((entry) => entry.trainable))
  }

  /** Counts a step; returns its number, from 1. */
  nextStep(): number {
    return Atomics.add(this.#header, STEPS, 1) + 1
  }

  get steps(): number {
    return Atomics.load(this.#header, STEPS)
  }

  /** Goes on from a saved step count. */
  restoreSteps(steps: number): void {
    Atomics.store(this.#header, STEPS, steps)
    Atomics.store(this.#header, OTHERS, 0)
  }

  /** Steps that others have made with optimizer state of their own: they are counted, but this state has not seen them. */
  get othersSteps(): number {
    return Atomics.load(this.#header, OTHERS)
  }

  /** What is more than was counted here are steps of others. No thread may push meanwhile. */
  countOthers(steps: number): void {
    Atomics.add(this.#header, OTHERS, steps - this.steps)
    Atomics.store(this.#header, STEPS, steps)
  }

  /** The weights and state themselves, which every push changes. */
  get weights(): Float32Array {
    return this.#weights
  }

  pull(into: Float32Array): void {
    into.set(this.#weights)
  }

  /** Weights between two steps, while other threads train. False: a step that threads make together came between. */
  pullWhole(into: Float32Array): boolean {
    const round = Atomics.load(this.#header, ROUNDS)
    if (this.#handle.locked) lock(this.#header)
    into.set(this.#weights)
    if (this.#handle.locked) unlock(this.#header)
    // Such a step is between the two barriers of its threads.
    return round % 2 === 0 && Atomics.load(this.#header, ROUNDS) === round
  }

  /**
   * Trainable weights as they will be about when `steps` gradients that other threads are computing have been applied: a
   * gradient for weights that are older than it is applied to makes training swing. The rest as they are.
   */
  pullAhead(into: Float32Array, factors: StepFactors, steps: number): void {
    for (const { at, size, rate } of this.#runs) {
      this.#kernel.setStep(factors.rate * rate, factors.aux, 0)
      for (let start = at; start < at + size; start += CHUNK_FLOATS)
        this.#putAhead(into, start, Math.min(start + CHUNK_FLOATS, at + size), steps)
    }
    into.set(this.#weights.subarray(this.layout.trainable), this.layout.trainable)
  }

  /** Applies gradients of the trainable part and stores new state, which follows the weights in `from`. */
  push(from: Float32Array, factors: StepFactors, { only, into, ahead = 0 }: DensePushOptions = {}): void {
    const { layout } = this
    const runs = only ? this.#runsOf(only) : this.#runs
    const isHere = from.buffer === this.#weights.buffer
    if (this.#handle.locked) lock(this.#header)
    for (const { at, size, l2, rate } of runs) {
      this.#kernel.setStep(factors.rate * rate, factors.aux, l2)
      for (let start = at; start < at + size; start += CHUNK_FLOATS) {
        const end = Math.min(start + CHUNK_FLOATS, at + size)
        if (!isHere) this.#gradients.set(from.subarray(start, end))
        this.#kernel.apply(
          this.#weights.byteOffset + 4 * start,
          4 * layout.floats,
          isHere ? from.byteOffset + 4 * start : this.#gradients.byteOffset,
          end - start,
        )
        // Weights and state just applied are still in the cache.
        if (into && ahead > 0) this.#putAhead(into, start, end, ahead)
        else into?.set(this.#weights.subarray(start, end), start)
      }
    }
    for (const { kind, name, at, size } of layout.entries)
      if (kind === 'state' && (!only || only.has(name))) this.#weights.set(from.subarray(at, at + size), at)
    into?.set(this.#weights.subarray(layout.trainable), layout.trainable)
    if (this.#handle.locked) unlock(this.#header)
  }

  /** into[start, end) = these weights some steps on, by the rate set last. */
  #putAhead(into: Float32Array, start: number, end: number, steps: number): void {
    const { byteOffset } = this.#gradients
    this.#kernel.ahead(this.#weights.byteOffset + 4 * start, 4 * this.layout.floats, byteOffset, end - start, steps)
    into.set(this.#gradients.subarray(0, end - start), start)
  }

  /**
   * Threads 0 to n - 1 push gradients of slices of one batch, and one step is taken with their mean by sample. Returns when
   * it is taken, with its number. Each thread sums up and applies a share of the weights, in the order of threads. `share` is
   * called when all have come: what else they do together is done before any of them goes on.
   */
  pushTogether(from: Float32Array, factors: StepFactors, samples: number, n: number, share: () => void): number {
    const header = this.#header
    const own = this.#wholeGradients(this.#thread)
    own.set(from)
    Atomics.store(header, SAMPLES + this.#thread, samples)
    barrier(header, n)
    const counts = Array.from({ length: n }, (_, thread) => Atomics.load(header, SAMPLES + thread))
    const total = counts.reduce((sum, count) => sum + count, 0)
    const shares = counts.map((count) => count / total)
    share()
    let chunk = 0
    for (const { at, size, l2, rate } of this.#runs) {
      this.#kernel.setStep(factors.rate * rate, factors.aux, l2)
      for (let start = at; start < at + size; start += CHUNK_FLOATS, chunk++) {
        if (chunk % n === this.#thread) this.#applyMean(start, Math.min(start + CHUNK_FLOATS, at + size), shares)
      }
    }
    if (this.#thread === 0) {
      for (const { kind, at, size } of this.layout.entries) if (kind === 'state') this.#meanState(at, size, shares)
      Atomics.add(header, STEPS, 1)
    }
    barrier(header, n)
    return factors.step
  }

  /** This thread's room for gradients of all weights, in the block's own memory: a push from there copies nothing. */
  get room(): Float32Array {
    return this.#wholeGradients(this.#thread)
  }

  /** room[start, end) = factor * from[start, end); entries are padded to four. */
  putWeighed(from: Float32Array, start: number, end: number, factor: number): void {
    const { room } = this
    room.set(from.subarray(start, end), start)
    const at = room.byteOffset + 4 * start
    if (factor !== 1) this.#kernel.weigh(at, at, (end - start + 3) & ~3, factor, 0)
  }

  #applyMean(start: number, end: number, shares: readonly number[]): void {
    this.#sumUp(start, end - start, shares)
    const [weights, gradients] = [this.#weights.byteOffset + 4 * start, this.#gradients.byteOffset]
    this.#kernel.apply(weights, 4 * this.layout.floats, gradients, end - start)
  }

  #meanState(at: number, size: number, shares: readonly number[]): void {
    for (let start = at; start < at + size; start += CHUNK_FLOATS) {
      const count = Math.min(CHUNK_FLOATS, at + size - start)
      this.#sumUp(start, count, shares)
      this.#weights.set(this.#gradients.subarray(0, count), start)
    }
  }

  /** The threads' gradients from `start`, weighed by their shares, into this thread's chunk. Entries are padded to four. */
  #sumUp(start: number, count: number, shares: readonly number[]): void {
    const padded = (count + 3) & ~3
    for (const [thread, share] of shares.entries()) {
      const from = this.#wholeGradients(thread).byteOffset + 4 * start
      this.#kernel.weigh(this.#gradients.byteOffset, from, padded, share, thread > 0 ? 1 : 0)
    }
  }

  /** A thread's room for gradients of all weights. */
  #wholeGradients(thread: number): Float32Array {
    const { layout } = this
    const at = this.#handle.wholeGradientsAt + 4 * layout.floats * thread
    return new Float32Array(this.#weights.buffer, at, layout.floats)
  }

  #runsOf(only: ReadonlySet<string>): readonly Run[] {
    const known = this.#partRuns.get(only)
    if (known) return known
    const runs = mergeRuns(this.layout.entries.filter(({ trainable, name }) => trainable && only.has(name)))
    this.#partRuns.set(only, runs)
    return runs
  }

  /** Weights and optimizer state as bytes, for digests and saving. */
  bytes(): Uint8Array {
    const { states } = kernelRule(this.#handle.optimizer)
    return new Uint8Array(this.#weights.buffer, this.#weights.byteOffset, 4 * this.layout.floats * (1 + states))
  }
}

/** A stretch of weights under the same constants: one kernel call. */
type Run = Pick<DenseEntry, 'at' | 'size' | 'l2' | 'rate'>

function mergeRuns(entries: readonly DenseEntry[]): Run[] {
  const runs: { at: number; size: number; l2: number; rate: number }[] = []
  for (const { at, size, l2, rate } of entries) {
    const last = runs.at(-1)
    // Entries begin at multiples of four floats: a wider gap is an entry left out.
    const adjacent = last && at - last.at - last.size < 4
    if (adjacent && last.l2 === l2 && last.rate === rate) last.size = at + size - last.at
    else runs.push({ at, size, l2, rate })
  }
  return runs
}

/** Waits until n threads have come; every thread must name the same n. */
function barrier(header: Int32Array, n: number): void {
  const round = Atomics.load(header, ROUNDS)
  if (Atomics.add(header, ARRIVED, 1) + 1 === n) {
    Atomics.store(header, ARRIVED, 0)
    Atomics.add(header, ROUNDS, 1)
    Atomics.notify(header, ROUNDS)
    return
  }
  // The others are about as far: often they come within microseconds. The wait ends now and then, so that a thread can be ended.
  for (let spins = 0; spins < BARRIER_SPINS; spins++) if (Atomics.load(header, ROUNDS) !== round) return
  while (Atomics.load(header, ROUNDS) === round) Atomics.wait(header, ROUNDS, round, 100)
}

const BARRIER_SPINS = 200

function lock(header: Int32Array): void {
  while (Atomics.compareExchange(header, LOCK, 0, 1) !== 0) Atomics.wait(header, LOCK, 1, 1)
}

function unlock(header: Int32Array): void {
  Atomics.store(header, LOCK, 0)
  Atomics.notify(header, LOCK, 1)
}

/** Names the largest weight: it is the one to make smaller. */
function tooLarge({ entries }: DenseLayout, bytes: number): UserError {
  const [largest] = entries.toSorted((a, b) => b.size - a.size)
  return new UserError(
    `The dense weights with their optimizer state need ${sizeText(bytes)}; ${sizeText(MOST_DENSE_BYTES)} fit. The largest is ${largest!.name}: ${sizeText(4 * largest!.size)}.`,
    {
      code: 'MODEL_SIZE',
      hint: 'Make that layer smaller: its width, or what goes into it. What is looked up by id belongs into nn.embedding, whose tables have no such limit.',
    },
  )
}
