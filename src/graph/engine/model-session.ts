/** @file A finished ONNX model, as an export holds it, in onnxruntime: weights are inside, inputs and outputs go by name. */
import type { DType } from '../program/index.ts'
import type { TensorView } from './engine.ts'
import type { OrtOptions } from './ort.ts'
import { openSession, ortTensor } from './ort-values.ts'

export interface ModelInput extends TensorView {
  readonly dtype: DType
}

export interface ModelSession {
  /** Blocks this thread while the graph runs; results are in fresh buffers. */
  run(inputs: Readonly<Record<string, ModelInput>>): Promise<Record<string, TensorView>>
  close(): Promise<void>
}

/** Opens a serialized model. Sessions leak a little when closed: open few, keep them. */
export async function openModel(model: Uint8Array, options: OrtOptions = {}): Promise<ModelSession> {
  const session = await openSession(model, options)
  return {
    run: async (inputs) => {
      const feeds = Object.fromEntries(
        session.inputNames.map((name) => [name, ortTensor(inputs[name]!.dtype, inputs[name]!)] as const),
      )
      const results = await session.run(feeds)
      return Object.fromEntries(
        Object.entries(results).map(([name, { data, dims }]) => [name, { data, dims } as TensorView]),
      )
    },
    close: () => session.release(),
  }
}
