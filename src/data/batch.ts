/** @file Samples in memory: slots, columns, chunks in shared memory and when that is used again, batches as views on chunks. */

import type { Feature, LogFeature } from './features/feature.ts'

/**
 * One input of a model, in the order the model declares them (the order MultiSlot text must have). A sample may lack any of them;
 * one that no sample has is refused, unless `required` is false: a mistyped name would train on zeros.
 */
export type Slot =
  /** Feature signs, any number per sample; a slot missing from slot text becomes the single sign 0. */
  | {
      readonly kind: 'sparse'
      readonly name: string
      readonly required?: boolean | undefined
      /** What is made of raw values. @default nothing: they are signs */
      readonly feature?: Feature | undefined
    }
  /** A fixed number of values per sample; missing from slot text: zeros. int64 is for labels and ids that are fed, not looked up. */
  | {
      readonly kind: 'dense'
      readonly name: string
      readonly width: number
      readonly dtype: 'float32' | 'int64'
      /** Other names that it may go by in text. */
      readonly aliases?: readonly string[] | undefined
      readonly required?: boolean | undefined
      readonly feature?: LogFeature | undefined
    }

/** Columns of `samples` samples; arrays may be longer than what is used. */
export interface Columns {
  readonly samples: number
  readonly counts: Uint32Array
  readonly starts: Uint32Array
  readonly signs: BigUint64Array
  readonly dense: readonly (Float32Array | BigInt64Array)[]
}

/**
 * Parsed samples, sample-major, in one SharedArrayBuffer. With S sparse slots (in declaration order):
 * counts[i*S + s] signs of sample i for slot s; signs[starts[i] .. starts[i+1]) are sample i's signs, slot after slot.
 * dense[d] is the d-th dense slot (declaration order), [samples, width].
 */
export interface ParsedChunk {
  readonly samples: number
  readonly counts: Uint32Array<SharedArrayBuffer>
  readonly starts: Uint32Array<SharedArrayBuffer>
  readonly signs: BigUint64Array<SharedArrayBuffer>
  readonly dense: readonly (Float32Array<SharedArrayBuffer> | BigInt64Array<SharedArrayBuffer>)[]
  /** Counts samples that were released: the reader uses the memory again when all were. See releaseBatch. */
  readonly lease?: Int32Array<SharedArrayBuffer>
}

/** Samples [from, to) of a chunk. */
export interface Piece {
  readonly chunk: ParsedChunk
  readonly from: number
  readonly to: number
}

/** A place in the input: the chunk number of the last sample before it and that sample's end in the chunk. */
export interface Cursor {
  readonly chunk: number
  readonly sample: number
  /** Over the chunk's text up to here or a little beyond, where reading it again could give other samples (a pipe). */
  readonly checksum?: number
}

/** Batch `index` of an epoch: a pure function of (data, seed, epoch, index), whatever the number of reader threads. */
export interface Batch {
  /** This is one of `count` slices of the batch, each with a thread of its own, and has `share` of its samples. */
  readonly slice?: { readonly count: number; readonly share: number }
  readonly epoch: number
  readonly index: number
  readonly size: number
  readonly pieces: readonly Piece[]
  /** Input position after this batch. */
  readonly cursor: Cursor
  /** Bytes of input consumed up to here over bytes of input, 0 to 1. */
  readonly fraction: number
}

export interface Shape {
  readonly sparseSlots: number
  /** Of the dense slots. */
  readonly widths: readonly number[]
}

export function shapeOf(slots: readonly Slot[]): Shape {
  return {
    sparseSlots: slots.filter(({ kind }) => kind === 'sparse').length,
    widths: slots.flatMap((slot) => (slot.kind === 'dense' ? [slot.width] : [])),
  }
}

const LEASE_BYTES = 16
/** New buffers get some room, so that the next chunk, a little larger, fits too. */
const SLACK = 1.125

/** Copies the used part of the columns, into `recycled` if that is large enough. */
export function packColumns(columns: Columns, shape: Shape, recycled?: SharedArrayBuffer): ParsedChunk {
  const { samples } = columns
  const used = {
    counts: columns.counts.subarray(0, samples * shape.sparseSlots),
    starts: columns.starts.subarray(0, samples + 1),
    signs: columns.signs.subarray(0, columns.starts[samples]!),
    dense: columns.dense.map((column, d) => column.subarray(0, samples * shape.widths[d]!)),
  }
  const all = [used.counts, used.starts, used.signs, ...used.dense]
  const bytes = all.reduce((sum, array) => sum + aligned(array.byteLength), LEASE_BYTES)
  const fits = recycled !== undefined && recycled.byteLength >= bytes
  const buffer = fits ? recycled : new SharedArrayBuffer(Math.ceil((bytes * SLACK) / 4096) * 4096)
  const lease = new Int32Array(buffer, 0, 1)
  Atomics.store(lease, 0, 0)

  let at = LEASE_BYTES
  const place = (byteLength: number) => {
    at += aligned(byteLength)
    return at - aligned(byteLength)
  }
  const copyUint32 = (from: Uint32Array) => {
    const to = new Uint32Array(buffer, place(from.byteLength), from.length)
    to.set(from)
    return to
  }
  const signs = new BigUint64Array(buffer, place(used.signs.byteLength), used.signs.length)
  signs.set(used.signs)
  const dense = used.dense.map((from) => {
    if (from instanceof Float32Array) {
      const to = new Float32Array(buffer, place(from.byteLength), from.length)
      to.set(from)
      return to
    }
    const to = new BigInt64Array(buffer, place(from.byteLength), from.length)
    to.set(from)
    return to
  })
  return { samples, counts: copyUint32(used.counts), starts: copyUint32(used.starts), signs, dense, lease }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16
}

/**
 * Says that a batch is no longer looked at, from whichever thread used it (a batch survives postMessage). Call it once per
 * batch. Optional: buffers never released are left to the garbage collector, which is slow to see shared memory.
 */
export function releaseBatch(batch: Batch): void {
  for (const { chunk, from, to } of batch.pieces) releaseSamples(chunk, to - from)
}

export function releaseSamples(chunk: ParsedChunk, samples: number): void {
  if (chunk.lease) Atomics.add(chunk.lease, 0, samples)
}

function isReleased(chunk: ParsedChunk): boolean {
  return chunk.lease !== undefined && Atomics.load(chunk.lease, 0) >= chunk.samples
}

/** Chunk buffers used again: V8 does not count shared memory when it decides to collect, so garbage would pile up. */
export interface BufferPool {
  /** Remembers a chunk that was handed out. */
  lend(chunk: ParsedChunk): void
  /** A buffer whose samples were all released. */
  take(): SharedArrayBuffer | undefined
}

/** Remembers `limit` chunks at most: those a consumer never releases are forgotten and left to the garbage collector. */
export function createBufferPool(limit: number): BufferPool {
  const lent: ParsedChunk[] = []
  return {
    lend: (chunk) => {
      lent.push(chunk)
      if (lent.length > limit) lent.shift()
    },
    take: () => {
      const free = lent.findIndex(isReleased)
      return free < 0 ? undefined : lent.splice(free, 1)[0]!.signs.buffer
    },
  }
}

/** Columns of this thread's own memory as a batch. */
export function batchOf(columns: Columns, index = 0): Batch {
  const { samples: size } = columns
  const pieces = [{ chunk: columns as unknown as ParsedChunk, from: 0, to: size }]
  return { epoch: 0, index, size, pieces, cursor: { chunk: 0, sample: size }, fraction: 1 }
}
