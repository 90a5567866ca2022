/** @file Bindings of assembly/half.ts: float32 as float16 with a factor for each block, through a small memory. */
import { loadKernel } from './load.ts'

interface Exports {
  encode(from: number, into: number, n: number): number
  decode(from: number, into: number, n: number, factor: number): void
}

const BLOCK = 4096
const LANES = 8
const HALVES_AT = 4 * BLOCK

/** Bytes of so many values: the factor of each block, then the halves; a multiple of eight. */
export function halfBytes(values: number): number {
  return factorBytes(values) + ((2 * values + 7) & ~7)
}

/** A thread's own. */
export class HalfCoder {
  readonly #memory = new WebAssembly.Memory({ initial: 1 })
  readonly #floats = new Float32Array(this.#memory.buffer, 0, BLOCK)
  readonly #halves = new Uint16Array(this.#memory.buffer, HALVES_AT, BLOCK)
  readonly #kernel = loadKernel<Exports>('half', this.#memory)

  encode(values: Float32Array): Uint8Array<ArrayBuffer> {
    const { length } = values
    const bytes = new Uint8Array(halfBytes(length))
    const { factors, halves } = partsOf(bytes, length)
    for (let block = 0, at = 0; at < length; block++, at += BLOCK) {
      const count = Math.min(BLOCK, length - at)
      this.#floats.set(count === length ? values : values.subarray(at, at + count))
      this.#floats.fill(0, count, whole(count))
      factors[block] = this.#kernel.encode(0, HALVES_AT, whole(count))
      halves.set(this.#halves.subarray(0, count), at)
    }
    return bytes
  }

  /** `bytes` are those of encode, at a multiple of eight in their buffer. */
  decode(bytes: Uint8Array, into: Float32Array): void {
    const { factors, halves } = partsOf(bytes, into.length)
    for (let block = 0, at = 0; at < into.length; block++, at += BLOCK) {
      const count = Math.min(BLOCK, into.length - at)
      this.#halves.set(halves.subarray(at, at + count))
      this.#kernel.decode(HALVES_AT, 0, whole(count), factors[block]!)
      into.set(this.#floats.subarray(0, count), at)
    }
  }
}

function factorBytes(values: number): number {
  return 8 * Math.ceil(values / BLOCK / 2)
}

function partsOf({ buffer, byteOffset }: Uint8Array, values: number) {
  return {
    factors: new Float32Array(buffer, byteOffset, Math.ceil(values / BLOCK)),
    halves: new Uint16Array(buffer, byteOffset + factorBytes(values), values),
  }
}

function whole(count: number): number {
  return (count + LANES - 1) & -LANES
}
