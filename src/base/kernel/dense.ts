/** @file Bindings of assembly/dense.ts: dense weights and optimizer state in one shared memory. */
import { type KernelMemory, loadKernel, pagesFor } from './load.ts'
import { configureRule, type KernelRule, type RuleKernel } from './rules.ts'

export interface DenseKernel extends RuleKernel {
  /** Applies the rule to `n` floats at `weights`; states follow at multiples of `stride` bytes; gradients at `gradients`. */
  apply(weights: number, stride: number, gradients: number, n: number): void
  /** out = weights after `steps` further steps along the momentum; states as for apply, n a multiple of four. */
  ahead(weights: number, stride: number, out: number, n: number, steps: number): void
  /** into = factor * from, or with `add` into += factor * from; n is a multiple of four. */
  weigh(into: number, from: number, n: number, factor: number, add: number): void
}

/** First usable byte: below lie the kernel's constants. */
export const DENSE_BASE = 64 * 1024

/** What one memory holds beside that. */
export const MOST_DENSE_BYTES = 2 ** 32 - DENSE_BASE

export function createDenseMemory(bytes: number): KernelMemory {
  const pages = pagesFor(DENSE_BASE + bytes)
  return new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true })
}

export function attachDense(memory: KernelMemory, rule: KernelRule): DenseKernel {
  const kernel = loadKernel<DenseKernel>('dense', memory)
  configureRule(kernel, rule)
  return kernel
}
