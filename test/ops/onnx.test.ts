/** @file Every op's ONNX form on onnxruntime against the reference engine, values and gradients, over random shapes. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backward } from '../../src/graph/autodiff/index.ts'
import { ortEngine, referenceEngine, type TensorView } from '../../src/graph/engine/index.ts'
import { asFloat32, caseInputs, caseProgram, type OpCase, type Sizes } from './case.ts'
import { LAYER_CASES } from './layer-cases.ts'
import { OP_CASES } from './op-cases.ts'

const sizes: fc.Arbitrary<Sizes> = fc.record({
  B: fc.integer({ min: 1, max: 6 }),
  T: fc.integer({ min: 2, max: 5 }),
  m: fc.integer({ min: 1, max: 4 }),
  n: fc.integer({ min: 2, max: 6 }),
  k: fc.integer({ min: 1, max: 4 }),
})

describe('onnxruntime agrees with the reference engine on', () => {
  test.each(Object.entries<OpCase>({ ...OP_CASES, ...LAYER_CASES }))('%s', async (_, op) => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 1000 }), async (size, seed) => {
        expect(await engineError(op, size, seed)).toBeLessThan(1e-4)
      }),
      { numRuns: 8, seed: 7 },
    )
  })
})

/** The largest difference between the two engines, relative to 1 + |value|, over y, loss and every gradient. */
async function engineError(op: OpCase, size: Sizes, seed: number): Promise<number> {
  const program = backward(caseProgram(op, size), 'loss')
  const inputs = caseInputs(program, op, size, seed)
  const [expected, actual] = await Promise.all([
    referenceEngine({ precision: 'float64' })
      .compile(program)
      .then((session) => session.run(inputs)),
    ortEngine()
      .compile(program)
      .then(async (session) => {
        const result = await session.run(asFloat32(inputs))
        await session.close()
        return result
      }),
  ])
  return Math.max(...Object.keys(expected).map((name) => difference(expected[name]!, actual[name]!)))
}

function difference(expected: TensorView, actual: TensorView): number {
  expect(actual.dims).toEqual(expected.dims)
  return Array.from(expected.data, Number).reduce(
    (worst, value, i) => Math.max(worst, Math.abs(value - Number(actual.data[i])) / (1 + Math.abs(value))),
    0,
  )
}
