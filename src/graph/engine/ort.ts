/** @file The engine on onnxruntime-node: one session a program, buffers bound once, one thread unless more are asked for. */
import type * as ort from 'onnxruntime-node'
import type { Device } from '../../base/device/index.ts'
import { toOnnx } from '../onnx/index.ts'
import { type Program, programInputs, type TensorType } from '../program/index.ts'
import { checkInputs, dimsOf, emptyOutputs } from './buffers.ts'
import type { Engine, Session, TensorView } from './engine.ts'
import { type OpenSession, openSession, ortTensor } from './ort-values.ts'

export interface OrtOptions {
  /** Threads inside one op; several trainer threads each at 1 scale better. @default 1 */
  readonly threads?: number | undefined
  /** @default the CPU */
  readonly device?: Device | undefined
  /** Refuses programs of which the device leaves a part to the CPU. @default false */
  readonly strict?: boolean | undefined
  /** Results stay on the device, as tensors that another session takes. @default false */
  readonly stays?: boolean | undefined
}

export function ortEngine(options: OrtOptions = {}): Engine {
  return {
    name: 'onnxruntime',
    compile: async (program) => ortSession(program, await openSession(toOnnx(program), options)),
  }
}

function ortSession(program: Program, session: OpenSession): Session {
  const types = new Map<string, TensorType>(
    [...programInputs(program), ...program.fetches].map((item) => [item.name, item]),
  )
  const bind: Session['bind'] = (inputs, outputs) => {
    const sizes = checkInputs(program, inputs)
    const feeds = tensors(pick(inputs, session.inputNames), types)
    for (const [name, { dims }] of Object.entries(outputs)) checkOutput(name, dims, types, sizes)
    const fetches = tensors(outputs, types)
    return {
      run: async () => {
        await session.run(feeds, fetches)
      },
    }
  }
  return {
    bind,
    run: async (inputs) => {
      const outputs = emptyOutputs(program, inputs)
      await bind(inputs, outputs).run()
      return outputs
    },
    close: () => session.release(),
  }
}

/** onnxruntime tensors over the caller's memory, without a copy. */
function tensors(
  views: Readonly<Record<string, TensorView>>,
  types: ReadonlyMap<string, TensorType>,
): Record<string, ort.Tensor> {
  return Object.fromEntries(
    Object.entries(views).map(([name, view]) => [name, ortTensor(types.get(name)!.dtype, view)] as const),
  )
}

function pick(views: Readonly<Record<string, TensorView>>, names: readonly string[]): Record<string, TensorView> {
  return Object.fromEntries(names.map((name) => [name, views[name]!]))
}

function checkOutput(
  name: string,
  dims: readonly number[],
  types: ReadonlyMap<string, TensorType>,
  sizes: ReadonlyMap<string, number>,
): void {
  const type = types.get(name)
  if (!type) throw new Error(`The program has no fetch named "${name}".`)
  const expected = dimsOf(type.shape, sizes)
  if (expected.length !== dims.length || expected.some((dim, i) => dim !== dims[i])) {
    throw new Error(`The buffer for "${name}" is [${dims.join(', ')}], but this batch gives [${expected.join(', ')}].`)
  }
}
