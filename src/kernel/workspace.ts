/** @file Bindings of assembly/workspace.ts: a trainer thread's private memory, handed out region by region. */
import { loadKernel, pagesFor } from './load.ts'

export const POOLINGS = { sum: 0, mean: 1, sqrtn: 2 } as const

/** Raw kernel calls; addresses are byte offsets in the workspace's memory. */
export interface WorkspaceKernel {
  setPlacement(servers: number, shards: number): void
  dedupe(
    signs: number,
    n: number,
    segmentBits: number,
    table: number,
    mask: number,
    arrival: number,
    place: number,
    inverse: number,
    distinct: number,
    lengths: number,
  ): number
  select(
    signs: number,
    counts: number,
    samples: number,
    slots: number,
    wanted: number,
    outSigns: number,
    outCounts: number,
  ): number
  largest(counts: number, n: number): number
  expandSingle(inverse: number, n: number, rows: number, dim: number, out: number): void
  expandPooled(
    inverse: number,
    counts: number,
    samples: number,
    slots: number,
    targets: number,
    rows: number,
    dim: number,
    width: number,
    out: number,
    pooling: number,
  ): void
  expandSequence(
    inverse: number,
    counts: number,
    samples: number,
    slots: number,
    slot: number,
    rows: number,
    dim: number,
    length: number,
    out: number,
    mask: number,
  ): void
  mergeSingle(inverse: number, n: number, gradients: number, dim: number, merged: number): void
  mergePooled(
    inverse: number,
    counts: number,
    samples: number,
    slots: number,
    targets: number,
    gradients: number,
    dim: number,
    width: number,
    merged: number,
    pooling: number,
  ): void
  mergeSequence(
    inverse: number,
    counts: number,
    samples: number,
    slots: number,
    slot: number,
    gradients: number,
    dim: number,
    length: number,
    merged: number,
  ): void
  countShown(
    inverse: number,
    counts: number,
    samples: number,
    slots: number,
    numbers: number,
    shows: number,
    clicks: number,
    out: number,
  ): void
  mergeShown(inverse: number, n: number, shown: number, merged: number): void
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

/** Adds up the regions of a workspace before its memory exists: a private memory must not grow (views would die). */
export class WorkspacePlan {
  #bytes = 64 * 1024 // the kernel's own constants

  /** A region of `bytes`, aligned for SIMD. */
  region(bytes: number): Region {
    const at = this.#bytes
    this.#bytes = (at + bytes + 63) & ~63
    if (this.#bytes > 2 ** 31 || this.#bytes < 0) throw new Error(`internal: a workspace of ${this.#bytes >>> 0} bytes`)
    return { at, bytes }
  }

  open(): Workspace {
    const pages = pagesFor(this.#bytes)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    return { kernel: loadKernel<WorkspaceKernel>('workspace', memory), buffer: memory.buffer as ArrayBuffer }
  }
}
