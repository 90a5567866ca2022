/** @file Every gradient against values recorded from PyTorch by test/python/gradients.py, which regenerates them. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { backward } from '../../src/graph/autodiff/index.ts'
import { referenceEngine, type TensorView } from '../../src/graph/engine/index.ts'
import { programInputs } from '../../src/graph/program/index.ts'
import { caseProgram, type OpCase, SIZES } from './case.ts'
import { LAYER_CASES } from './layer-cases.ts'
import { OP_CASES } from './op-cases.ts'

interface Recorded {
  readonly dims: readonly number[]
  readonly values: readonly number[]
}
interface RecordedCase {
  readonly inputs: Readonly<Record<string, Recorded>>
  readonly ints: Readonly<Record<string, Recorded>>
  readonly loss: number
  readonly gradients: Readonly<Record<string, Recorded>>
}

const RECORDED = JSON.parse(readFileSync(new URL('../fixtures/gradients.json', import.meta.url), 'utf8')) as Record<
  string,
  RecordedCase
>
/** Their random draws are ours alone; finite differences and the engines' agreement still hold them. */
const RANDOM = ['dropout', 'sampled_softmax', 'nce']

describe('loss and gradients as PyTorch computes them:', () => {
  const cases = Object.entries<OpCase>({ ...OP_CASES, ...LAYER_CASES }).filter(
    ([name, { differentiable = true }]) => differentiable && !RANDOM.includes(name),
  )
  test.each(cases)('%s', async (name, op) => {
    const recorded = RECORDED[name]
    if (!recorded) throw new Error(`${name} is not in gradients.json: add it to test/python/gradients.py and run that`)
    const program = backward(caseProgram(op, SIZES), 'loss')
    const session = await referenceEngine({ precision: 'float64' }).compile(program)
    const result = await session.run(
      Object.fromEntries(programInputs(program).map((input) => [input.name, inputOf(recorded, input)])),
    )
    const loss = Number(result['loss']!.data[0])
    expect(Math.abs(loss - recorded.loss) / (1 + Math.abs(recorded.loss))).toBeLessThan(1e-9)
    for (const source of [...program.parameters, ...program.rows]) {
      const expected = recorded.gradients[source.name]
      if (!expected) throw new Error(`${name} has no recorded gradient of ${source.name}`)
      const actual = Array.from(result[`grad:${source.name}`]!.data, Number)
      const worst = Math.max(...actual.map((value, i) => Math.abs(value - expected.values[i]!) / (1 + Math.abs(value))))
      expect(worst, `gradient of ${source.name}`).toBeLessThan(1e-9)
    }
  })
})

function inputOf(
  recorded: RecordedCase,
  { name, shape }: { readonly name: string; readonly shape: readonly unknown[] },
): TensorView {
  const ints = recorded.ints[name]
  if (ints) return { dims: ints.dims, data: BigInt64Array.from(ints.values, BigInt) }
  const floats = recorded.inputs[name]
  // What the gradient does not depend on (masks nobody reads, batch-norm state) need not be recorded.
  const dims = floats?.dims ?? shape.map((dim) => (typeof dim === 'number' ? dim : dim === 'B' ? SIZES.B : SIZES.T))
  return { dims, data: floats ? Float64Array.from(floats.values) : new Float64Array(dims.reduce((a, b) => a * b, 1)) }
}
