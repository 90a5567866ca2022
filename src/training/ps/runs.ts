/** @file Runs of numbers in a message, each beginning at a multiple of eight bytes; values travel as they are or as float16. */

import { type HalfCoder, halfBytes } from '../../base/kernel/index.ts'
import { BadMessage } from '../../base/net/index.ts'
import { bytesOf } from '../../base/util/index.ts'
import type { Slice, Values } from '../../weights/params/index.ts'

export type Precision = 'float32' | 'float64'

export const VALUES = { float32: Float32Array, float64: Float64Array } as const

/**
 * Values travel as float16: those of rows all, of the dense ones the first so many. These are trained; running statistics,
 * which come after them, need all their bits.
 */
export interface Halved {
  readonly coder: HalfCoder
  readonly dense: number
}

/** For a server's slice of a dense layout whose trained values come first. */
export function halvedSlice(coder: HalfCoder, trainable: number, { from, to }: Slice): Halved {
  return { coder, dense: Math.max(0, Math.min(trainable, to) - from) }
}

/** A run as bytes, and what it lacks to a multiple of eight. */
export function plainRun(run: Values | BigUint64Array | Uint32Array): Uint8Array[] {
  const bytes = bytesOf(run)
  const padding = -bytes.byteLength & 7
  return padding === 0 ? [bytes] : [bytes, new Uint8Array(padding)]
}

/** Values of rows. */
export function rowRun(values: Values, halved: Halved | undefined): Uint8Array[] {
  return halved ? [halved.coder.encode(values as Float32Array)] : plainRun(values)
}

/** A server's dense values. */
export function denseRun(values: Values, halved: Halved | undefined): Uint8Array[] {
  if (!halved) return plainRun(values)
  const coded = halved.coder.encode(values.subarray(0, halved.dense) as Float32Array)
  return [coded, ...plainRun(values.subarray(halved.dense))]
}

/** Hands out runs of a body in order; a body that is too short throws instead of reading beyond. */
export class RunReader {
  readonly #body: Uint8Array<ArrayBuffer>
  #at: number

  constructor(body: Uint8Array<ArrayBuffer>, at = 0) {
    this.#body = body
    this.#at = aligned(at)
  }

  signs(count: number): BigUint64Array<ArrayBuffer> {
    return new BigUint64Array(this.#body.buffer, this.#take(8 * count), count)
  }

  plain(precision: Precision, count: number): Values {
    const Type = VALUES[precision]
    return new Type(this.#body.buffer, this.#take(Type.BYTES_PER_ELEMENT * count), count)
  }

  rows(precision: Precision, count: number, halved: Halved | undefined): Values {
    return halved ? this.#decoded(halved.coder, new Float32Array(count), count) : this.plain(precision, count)
  }

  dense(precision: Precision, count: number, halved: Halved | undefined): Values {
    if (!halved || count === 0) return this.plain(precision, count)
    const values = this.#decoded(halved.coder, new Float32Array(count), halved.dense)
    values.set(this.plain('float32', count - halved.dense) as Float32Array, halved.dense)
    return values
  }

  #decoded(coder: HalfCoder, values: Float32Array, count: number): Float32Array {
    const bytes = halfBytes(count)
    coder.decode(new Uint8Array(this.#body.buffer, this.#take(bytes), bytes), values.subarray(0, count))
    return values
  }

  #take(bytes: number): number {
    const at = this.#at
    this.#at += aligned(bytes)
    if (at + bytes > this.#body.byteLength)
      throw new BadMessage(`a message of ${this.#body.byteLength} bytes that goes on`)
    return this.#body.byteOffset + at
  }
}

export function precisionOf(values: Values): Precision {
  return values instanceof Float64Array ? 'float64' : 'float32'
}

function aligned(bytes: number): number {
  return (bytes + 7) & ~7
}
