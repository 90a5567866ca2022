/** @file Bindings of assembly/workspace.ts: a trainer thread's private memory, handed out region by region. */
import { sizeText, UserError } from '../util/index.ts'
import { loadKernel, pagesFor } from './load.ts'

export const POOLINGS = { sum: 0, mean: 1, sqrtn: 2 } as const

/** How many signs each slot of each sample has. */
type SlotCounts = [counts: number, samples: number, slots: number]
/** The same, and before it the distinct row of each sign. */
type SlotRows = [inverse: number, ...SlotCounts]
/** Where distinct signs go, and which of them each sign is. */
type DistinctPlaces = [arrival: number, place: number, inverse: number, distinct: number, lengths: number]

/** Raw kernel calls; addresses are byte offsets in the workspace's memory. */
export interface WorkspaceKernel {
  setPlacement(servers: number, shards: number): void
  dedupe(...at: [signs: number, n: number, segmentBits: number, table: number, mask: number, ...DistinctPlaces]): number
  select(...at: [signs: number, ...SlotCounts, wanted: number, outSigns: number, outCounts: number]): number
  largest(counts: number, n: number): number
  expandSingle(inverse: number, n: number, rows: number, dim: number, out: number): void
  expandPooled(
    ...at: [...SlotRows, targets: number, rows: number, dim: number, width: number, out: number, pooling: number]
  ): void
  expandSequence(
    ...at: [...SlotRows, slot: number, rows: number, dim: number, length: number, out: number, mask: number]
  ): void
  mergeSingle(inverse: number, n: number, gradients: number, dim: number, merged: number): void
  mergePooled(
    ...at: [
      ...SlotRows,
      targets: number,
      gradients: number,
      dim: number,
      width: number,
      merged: number,
      pooling: number,
    ]
  ): void
  mergeSequence(
    ...at: [...SlotRows, slot: number, gradients: number, dim: number, length: number, merged: number]
  ): void
  countShowClick(...at: [...SlotRows, numbers: number, shows: number, clicks: number, out: number]): void
  mergeShowClick(inverse: number, n: number, shown: number, merged: number): void
  histogram(predictions: number, stride: number, labels: number, n: number, thresholds: number, buckets: number): number
  sumSquares(values: number, n: number): number
  scale(values: number, n: number, factor: number): void
  clamp(values: number, n: number, low: number, high: number): void
}

/** Part of a workspace: where it starts and how long it is. */
export interface Region {
  readonly at: number
  readonly bytes: number
}

export interface Workspace {
  readonly kernel: WorkspaceKernel
  readonly buffer: ArrayBuffer
}

/** A WebAssembly memory is addressed by 32 bits; half of that is left to views that count in signed numbers. */
export const MOST_WORKSPACE_BYTES = 2 ** 31

function tooLargeBatch(bytes: number): UserError {
  return new UserError(
    `One batch needs ${sizeText(bytes)} in a trainer thread; ${sizeText(MOST_WORKSPACE_BYTES)} fit.`,
    {
      code: 'DATA_BATCH',
      hint: 'Make runner.train_batch_size smaller, or leave out samples with millions of values.',
    },
  )
}

/** Adds up the regions of a workspace before its memory exists: a private memory must not grow (views would die). */
export class WorkspacePlan {
  #bytes = 64 * 1024 // the kernel's own constants

  /** A region of `bytes`, aligned for SIMD. */
  region(bytes: number): Region {
    const at = this.#bytes
    this.#bytes = Math.ceil((at + bytes) / 64) * 64 // not by bits: sums beyond 4 GiB would wrap
    return { at, bytes }
  }

  get bytes(): number {
    return this.#bytes
  }

  open(): Workspace {
    if (!(this.#bytes <= MOST_WORKSPACE_BYTES)) throw tooLargeBatch(this.#bytes)
    const pages = pagesFor(this.#bytes)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    return { kernel: loadKernel<WorkspaceKernel>('workspace', memory), buffer: memory.buffer as ArrayBuffer }
  }
}
