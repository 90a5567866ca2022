/** @file An engine that computes nothing: it times everything around the engine. Outputs are zeros. */
import { emptyOutputs } from './buffers.ts'
import type { Engine } from './engine.ts'

export function nullEngine(): Engine {
  return {
    name: 'null',
    compile: async (program) => ({
      bind: (_, outputs) => ({
        run: async () => {
          for (const { data } of Object.values(outputs))
            new Uint8Array(data.buffer, data.byteOffset, data.byteLength).fill(0)
        },
      }),
      run: async (inputs) => emptyOutputs(program, inputs),
      close: async () => {},
    }),
  }
}
