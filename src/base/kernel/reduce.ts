/** @file Bindings of assembly/reduce.ts: sums and maxima of numbers that lie anywhere, block by block through a small memory. */
import { loadKernel } from './load.ts'

export type ReducedType = 'float32' | 'float64' | 'int32' | 'int64' | 'uint8'
type Loop = (into: number, from: number, bytes: number) => void
type Exports = Readonly<Record<`${'sum' | 'max'}${'Float32' | 'Float64' | 'Int32' | 'Int64' | 'Uint8'}`, Loop>>

/** What stays in the nearest cache: two blocks. */
const BLOCK_BYTES = 16 * 1024

/** A thread's own; the numbers may lie in shared memory, or in memory of several processes. */
export class Reducer {
  readonly #memory = new WebAssembly.Memory({ initial: 1 })
  readonly #into = new Uint8Array(this.#memory.buffer, 0, BLOCK_BYTES)
  readonly #from = new Uint8Array(this.#memory.buffer, BLOCK_BYTES, BLOCK_BYTES)
  readonly #loops: Readonly<Record<'sum' | 'max', Readonly<Record<ReducedType, Loop>>>>

  constructor() {
    const kernel = loadKernel<Exports>('reduce', this.#memory)
    const loops = (name: 'sum' | 'max') => ({
      float32: kernel[`${name}Float32`],
      float64: kernel[`${name}Float64`],
      int32: kernel[`${name}Int32`],
      int64: kernel[`${name}Int64`],
      uint8: kernel[`${name}Uint8`],
    })
    this.#loops = { sum: loops('sum'), max: loops('max') }
  }

  /** Each of `targets` = all of `sources` reduced, in their order; a target may be a source. All are bytes of numbers of `type`, equally long. */
  reduce(
    targets: readonly Uint8Array[],
    sources: readonly Uint8Array[],
    type: ReducedType,
    reduction: 'sum' | 'max',
  ): void {
    const loop = this.#loops[reduction][type]
    const [first, ...others] = sources as [Uint8Array, ...Uint8Array[]]
    for (let at = 0; at < first.length; at += BLOCK_BYTES) {
      const end = Math.min(first.length, at + BLOCK_BYTES)
      this.#into.set(first.subarray(at, end))
      for (const source of others) {
        this.#from.set(source.subarray(at, end))
        loop(0, BLOCK_BYTES, end - at)
      }
      for (const target of targets) target.set(this.#into.subarray(0, end - at), at)
    }
  }
}
