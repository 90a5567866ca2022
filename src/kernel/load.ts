/** @file Instantiates a compiled kernel over a memory. Kernels are small: each thread compiles its own. */
import { readFileSync } from 'node:fs'

const compiled = (name: string): WebAssembly.Module =>
  // dist/wasm lies two folders up from both src/kernel and dist/kernel.
  new WebAssembly.Module(readFileSync(new URL(`../../dist/wasm/${name}.wasm`, import.meta.url)))

export const WASM_PAGE_BYTES = 64 * 1024

/** Exports of kernel `name`, working on `memory`. */
export function loadKernel<Exports>(name: string, memory: WebAssembly.Memory): Exports {
  return new WebAssembly.Instance(compiled(name), { env: { memory } }).exports as Exports
}

/** A compiled module can be instantiated over many memories: a table's segments. */
export function loadKernels<Exports>(name: string, memories: readonly WebAssembly.Memory[]): Exports[] {
  const module = compiled(name)
  return memories.map((memory) => new WebAssembly.Instance(module, { env: { memory } }).exports as Exports)
}

export function pagesFor(bytes: number): number {
  return Math.ceil(bytes / WASM_PAGE_BYTES)
}
