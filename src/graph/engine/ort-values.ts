/**
 * @file Values of onnxruntime's own types, made from ours. Beside ort.ts and not in it: its declarations would bring onnxruntime's into those of
 * the package, and these need a browser's.
 */
import { createRequire } from 'node:module'
import type * as ort from 'onnxruntime-node'
import type { DType } from '../program/index.ts'
import type { TensorView } from './engine.ts'
import type { OrtOptions } from './ort.ts'

let library: typeof ort | undefined

/** Loaded by the first who computes: 50 ms and 13 MB, and a program that imports this package may only describe or submit. */
export function onnxruntime(): typeof ort {
  library ??= createRequire(import.meta.url)('onnxruntime-node') as typeof ort
  return library
}

export function sessionOptions({ threads = 1 }: OrtOptions): ort.InferenceSession.SessionOptions {
  return {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  }
}

/** A tensor over the caller's memory; the constructor's overloads know no union of dtypes. */
export function ortTensor(dtype: DType, { data, dims }: TensorView): ort.Tensor {
  return new (onnxruntime().Tensor)(dtype as 'float32', data as Float32Array, dims)
}
