/** @file Bindings of assembly/segment.ts: one shared memory of a sparse table, seen by one thread. */
import { type AccessorConfig, type AccessorKernel, accessorRow, configureAccessor } from './accessor.ts'
import { type KernelMemory, loadKernels } from './load.ts'
import { type RowPrecision, weightBytes } from './row-weights.ts'
import { configureRule, type KernelRule, type RuleKernel } from './rules.ts'

/** How a row's weights begin; always a pure function of (seed, sign). */
export type RowInit =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
  | { readonly kind: 'normal'; readonly mean: number; readonly std: number }
  | { readonly kind: 'truncated_normal'; readonly mean: number; readonly std: number }

export interface RowLayout {
  readonly dim: number
  readonly rule: KernelRule
  readonly seed: bigint
  readonly init: RowInit
  /** How weights are kept; the state behind them is float32. */
  readonly precision: RowPrecision
  /** Rows with show and click, which follow this and neither `rule` nor `init`. */
  readonly accessor?: AccessorConfig
  /** Rows of workers that train apart: see assembly/segment-exchange.ts. @default no part of a row is exchanged */
  readonly exchange?: RowExchange
}

export interface RowExchange {
  /** What an update leaves of each run of state that is exchanged, the first ones of a row. */
  readonly decays: readonly number[]
  /** Rows remember what the servers hold of them, and how often they were updated since they were sent. */
  readonly copied: boolean
}

/** What decides which rows leave a segment first, by its number in the kernel, and how many grades it tells apart. */
export const EVICTIONS = { lru: 0, score: 1, unseen_days: 2 } as const
export const EVICTION_GRADES = 4096

/** What is done to rows by their addresses: see assembly/segment-exchange.ts. */
export interface ExchangeKernel {
  setDecays(a: number, b: number, c: number): void
  pick(addresses: number, n: number, least: number, flags: number): void
  bring(addresses: number, n: number, share: number, weights: number, states: number, counts: number): void
  sent(addresses: number, n: number, weights: number): void
  take(
    ...at: [addresses: number, n: number, weights: number, weightStride: number, states: number, stateStride: number]
  ): void
  add(addresses: number, n: number, weights: number, states: number, counts: number): void
  give(addresses: number, n: number, weights: number, states: number): void
}

/** Raw kernel calls; addresses are byte offsets in the segment's memory. */
export interface SegmentKernel extends RuleKernel, AccessorKernel, ExchangeKernel {
  attach(
    thread: number,
    dim: number,
    states: number,
    clocked: number,
    seed: bigint,
    kind: number,
    a: number,
    b: number,
    stateInit: number,
    packed: number,
  ): void
  create(): void
  rowCount(): number
  usedBytes(): number
  reserve(bytes: number): number
  setClock(step: number, rate: number): void
  setExchange(runs: number, copied: number): void
  lookup(signs: number, n: number, addresses: number, rows: number, insert: number): number
  locate(signs: number, n: number, addresses: number, insert: number): number
  update(signs: number, addresses: number, gradients: number, n: number): void
  write(signs: number, n: number, rows: number, segmentBits: number, segment: number, insert: number): number
  read(signs: number, n: number, addresses: number, rows: number): number
  absent(signs: number, n: number, addresses: number): number
  clear(): void
  /** Whether rows may have gone, or all have changed, since `unmark`. */
  allMarked(): number
  /** Forgets which rows have changed. */
  unmark(): void
  setTick(tick: number): void
  touch(signs: number, n: number, tick: number): number
  present(signs: number, n: number, segmentBits: number, segment: number, flags: number): void
  weigh(kind: number, now: number, oldest: number, counts: number): void
  evict(
    ...at: [
      kind: number,
      now: number,
      oldest: number,
      cutoff: number,
      from: number,
      capacity: number,
      signs: number,
      rows: number,
      next: number,
    ]
  ): number
  pickRows(rows: number, n: number, mode: number, flags: number): void
  fadeRows(rows: number, n: number, flags: number): void
  settleRows(rows: number, n: number, mode: number): void
  /** `mode`: of an accessor's rows those that a save of this mode writes; -1: all; -2: those that changed since `unmark`. */
  scan(from: number, capacity: number, signs: number, rows: number, next: number, mode: number): number
}

const INITIAL_BYTES = 10 * 1024 * 1024 // header, directory and the first pages; untouched pages cost nothing
const MAXIMUM_PAGES = 65536 // 4 GiB, the most an instance can address

/** An empty segment. Its memory is reserved whole and becomes resident as it is touched. */
export function createSegmentMemory(): KernelMemory {
  return new WebAssembly.Memory({ initial: INITIAL_BYTES / 65536, maximum: MAXIMUM_PAGES, shared: true })
}

/** Attaches a thread to segments; `thread` is this thread's own number below MAX_THREADS. */
export function attachSegments(memories: readonly KernelMemory[], thread: number, layout: RowLayout): SegmentKernel[] {
  const { kind, a, b } = initConstants(layout.init)
  const { states, clocked, stateInit } = layout.rule
  const seed = BigInt.asIntN(64, layout.seed)
  const packed = layout.precision === 'bfloat16' ? 1 : 0
  return loadKernels<SegmentKernel>('segment', memories).map((kernel) => {
    kernel.attach(thread, layout.dim, states, clocked ? 1 : 0, seed, kind, a, b, stateInit, packed)
    configureRule(kernel, layout.rule)
    if (layout.exchange) configureExchange(kernel, layout.exchange)
    if (layout.accessor) configureAccessor(kernel, layout.accessor, layout.seed)
    return kernel
  })
}

/** Epoch slots in a segment's header, one a thread. */
export const MAX_THREADS = 256

function configureExchange(kernel: SegmentKernel, { decays, copied }: RowExchange): void {
  const [a = 1, b = 1, c = 1, ...more] = decays
  if (more.length > 0) throw new Error(`internal: ${decays.length} runs of state are exchanged, of at most 3`)
  kernel.setExchange(decays.length, copied ? 1 : 0)
  kernel.setDecays(a, b, c)
}

export function rowBytes({ dim, rule, precision, accessor, exchange }: RowLayout): number {
  if (accessor) return 4 * accessorRow(accessor).floats
  const copy = exchange?.copied ? dim * (1 + exchange.decays.length) + 1 : 0
  return weightBytes(dim, precision) + 4 * (dim * rule.states + copy + (rule.clocked ? 1 : 0))
}

function initConstants(init: RowInit): { kind: number; a: number; b: number } {
  switch (init.kind) {
    case 'constant':
      return { kind: 0, a: init.value, b: 0 }
    case 'uniform':
      return { kind: 1, a: init.low, b: init.high }
    case 'normal':
      return { kind: 2, a: init.mean, b: init.std }
    case 'truncated_normal':
      return { kind: 3, a: init.mean, b: init.std }
  }
}
