/** @file Instantiates a compiled kernel over a memory. Kernels are small: each thread compiles its own. */
import { readFileSync } from 'node:fs'
import { packageFile } from '../util/index.ts'

const compiled = (name: string): WebAssembly.Module =>
  new WebAssembly.Module(readFileSync(packageFile(`dist/wasm/${name}.wasm`)))

/** A WebAssembly.Memory, by what is used of it: declarations of the package need no browser's types. */
export interface KernelMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer
  /** By so many pages of 64 KiB; `buffer` is longer then, in all threads that have it. */
  grow(pages: number): number
}

export const WASM_PAGE_BYTES = 64 * 1024

/** Exports of kernel `name`, working on `memory`. */
export function loadKernel<Exports>(name: string, memory: KernelMemory): Exports {
  return new WebAssembly.Instance(compiled(name), { env: { memory } }).exports as Exports
}

/** A compiled module can be instantiated over many memories: a table's segments. */
export function loadKernels<Exports>(name: string, memories: readonly KernelMemory[]): Exports[] {
  const module = compiled(name)
  return memories.map((memory) => new WebAssembly.Instance(module, { env: { memory } }).exports as Exports)
}

export function pagesFor(bytes: number): number {
  return Math.ceil(bytes / WASM_PAGE_BYTES)
}
