/**
 * @file Values of onnxruntime's own types, made from ours. Beside ort.ts and not in it: its declarations would bring onnxruntime's into those of
 * the package, and these need a browser's.
 */
import { createRequire } from 'node:module'
import type * as ort from 'onnxruntime-node'
import { CPU, type Device } from '../../base/device/index.ts'
import type { DType } from '../program/index.ts'
import { deviceFailure, inTurn } from './device.ts'
import type { TensorView } from './engine.ts'
import type { OrtOptions } from './ort.ts'

let library: typeof ort | undefined

/** Loaded by the first who computes: 50 ms and 13 MB, and a program that imports this package may only describe or submit. */
export function onnxruntime(): typeof ort {
  library ??= createRequire(import.meta.url)('onnxruntime-node') as typeof ort
  return library
}

/** A session whose failures are told in the words of the device it runs on, and which waits for its turn there. */
export interface OpenSession {
  readonly inputNames: readonly string[]
  run(
    feeds: ort.InferenceSession.FeedsType,
    fetches?: ort.InferenceSession.FetchesType,
  ): Promise<ort.InferenceSession.ReturnType>
  release(): Promise<void>
}

export async function openSession(model: Uint8Array, options: OrtOptions): Promise<OpenSession> {
  const { device = CPU } = options
  const { InferenceSession } = onnxruntime()
  const guarded = <T>(work: () => Promise<T>) =>
    inTurn(device, work).catch((error: Error) => {
      throw deviceFailure(device, error)
    })
  if (device.provider === 'cpu') return await InferenceSession.create(model, sessionOptions(options))
  const session = await guarded(() => InferenceSession.create(model, sessionOptions(options)))
  return {
    inputNames: session.inputNames,
    run: (feeds, fetches) => guarded(() => (fetches ? session.run(feeds, fetches) : session.run(feeds))),
    release: () => guarded(() => session.release()),
  }
}

function sessionOptions({
  threads = 1,
  device = CPU,
  strict = false,
  stays = false,
}: OrtOptions): ort.InferenceSession.SessionOptions {
  return {
    executionProviders: [providerOf(device)],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // What a device leaves to the CPU is in a table of the documentation, not in a warning a session.
    logSeverityLevel: strict ? 4 : 3,
    ...(stays ? { preferredOutputLocation: 'gpu-buffer' as const } : {}),
    ...(strict ? { extra: { session: { disable_cpu_ep_fallback: '1' } } } : {}),
  }
}

/** Ops that a provider does not have run on the CPU, which onnxruntime adds by itself. */
function providerOf({ provider, index }: Device): ort.InferenceSession.ExecutionProviderConfig {
  return provider === 'cuda' ? { name: 'cuda', deviceId: index } : provider
}

/** A tensor over the caller's memory; the constructor's overloads know no union of dtypes. */
export function ortTensor(dtype: DType, { data, dims }: TensorView): ort.Tensor {
  return new (onnxruntime().Tensor)(dtype as 'float32', data as Float32Array, dims)
}
