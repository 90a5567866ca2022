/** @file What a reader produces and a trainer consumes: slots, parsed chunks in shared memory, batches as views on chunks. */

/** One input of a model, in the order the model declares them (the order MultiSlot text must have). */
export type Slot =
  /** Feature signs, any number per sample; a slot missing from slot text becomes the single sign 0. */
  | { readonly kind: 'sparse'; readonly name: string }
  /** A fixed number of values per sample; missing from slot text: zeros. int64 is for labels and ids that are fed, not looked up. */
  | {
      readonly kind: 'dense'
      readonly name: string
      readonly width: number
      readonly dtype: 'float32' | 'int64'
      /** Other names that it may go by in text. */
      readonly aliases?: readonly string[]
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
