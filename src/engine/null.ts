/** @file An engine that computes nothing: it times everything around the engine. Outputs are zeros. */
import { checkInputs, createData, dimsOf } from './buffers.ts'
import type { Engine } from './engine.ts'

export function nullEngine(): Engine {
  return {
    name: 'null',
    compile: async (program) => ({
      bind: (_, outputs) => ({
        run: async () => {
          for (const { data } of Object.values(outputs)) data.fill(0 as never)
        },
      }),
      run: async (inputs) => {
        const sizes = checkInputs(program, inputs)
        const zeros = program.fetches.map(({ name, shape, dtype }) => {
          const dims = dimsOf(shape, sizes)
          return [
            name,
            {
              dims,
              data: createData(
                dtype,
                dims.reduce((a, b) => a * b, 1),
              ),
            },
          ] as const
        })
        return Object.fromEntries(zeros)
      },
      close: async () => {},
    }),
  }
}
