/** @file Bindings of assembly/runs.ts: rows on a disk, in sorted runs of pages. */
import { type KernelMemory, loadKernel, pagesFor, WASM_PAGE_BYTES } from './load.ts'

/** Raw kernel calls; addresses are byte offsets in the memory. See assembly/runs.ts. */
export interface RunsKernel {
  /** Returns how many rows a page has. */
  setPages(rowBytes: number, pageBytes: number): number
  verify(pages: number, n: number, first: number): number
  sortByHash(signs: number, n: number, order: number, keys: number, other: number, counts: number): void
  lastOfEach(signs: number, n: number, order: number): number
  pack(
    ...at: [
      signs: number,
      rows: number,
      order: number,
      from: number,
      n: number,
      pages: number,
      first: number,
      fences: number,
      filter: number,
      blocks: number,
    ]
  ): number
  plan(signs: number, n: number, runs: number, count: number, at: number, places: number, isFirst: number): number
  take(
    ...at: [
      signs: number,
      at: number,
      places: number,
      n: number,
      pages: number,
      foundSigns: number,
      foundRows: number,
      found: number,
    ]
  ): number
  feed(inputs: number, i: number, pages: number, n: number): void
  merge(
    ...at: [inputs: number, count: number, signs: number, rows: number, done: number, capacity: number, result: number]
  ): void
}

/** Bytes of a run, of a merge's input, and of a sign's place as the kernel has them in its memory. */
export const RUN_BYTES = 16
export const INPUT_BYTES = 24
export const PLACE_BYTES = 12
/** No more runs than this are merged at once: they are told apart by the bits of a word. */
export const MAX_INPUTS = 31
export const NOWHERE = 0xffffffff

/** A memory of the kernel's own, handed out region by region; it grows at its end and regions stay where they are. */
export class RunsMemory {
  readonly kernel: RunsKernel
  readonly #memory: KernelMemory
  #end = WASM_PAGE_BYTES // the kernel's own constants

  constructor() {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 })
    this.#memory = memory
    this.kernel = loadKernel<RunsKernel>('runs', memory)
  }

  /** Changes when the memory grows. */
  get buffer(): ArrayBuffer {
    return this.#memory.buffer as ArrayBuffer
  }

  /** Room for `bytes`, aligned as direct reads and writes want it. */
  reserve(bytes: number): number {
    const at = this.#end
    this.#end = Math.ceil((at + bytes) / ALIGNED) * ALIGNED
    const more = pagesFor(this.#end - this.buffer.byteLength)
    if (more > 0) this.#memory.grow(more)
    return at
  }

  get bytes(): number {
    return this.#end
  }

  /** All regions are given back; the memory stays for others, which are not zero. A new memory would wait for a collection of garbage. */
  reset(): void {
    this.#end = WASM_PAGE_BYTES
  }
}

const ALIGNED = 4096
