/** @file Gradients against finite differences, in float64 through the reference engine. */
import { backward, type GradientRules } from '../../src/graph/autodiff/index.ts'
import { referenceEngine, type TensorView } from '../../src/graph/engine/index.ts'
import { caseInputs, caseProgram, type OpCase, SIZES, type Sizes } from './case.ts'

/** The largest |gradient - finite difference|, relative to 1 + |gradient|, over every element of every operand. */
export async function gradientError(
  test: OpCase,
  { sizes = SIZES, seed = 1, rules }: { sizes?: Sizes; seed?: number; rules?: GradientRules } = {},
): Promise<number> {
  const program = caseProgram(test, sizes)
  const inputs = caseInputs(program, test, sizes, seed)
  const session = await referenceEngine({ precision: 'float64' }).compile(
    backward(program, 'loss', rules ? { rules } : {}),
  )
  const loss = async (changed: Record<string, TensorView>) => Number((await session.run(changed))['loss']!.data[0])
  const gradients = await session.run(inputs)
  let worst = 0
  for (const { name } of [...program.parameters, ...program.rows]) {
    const { dims, data } = inputs[name] as { dims: readonly number[]; data: Float64Array }
    for (let i = 0; i < data.length; i++) {
      const [up, down] = [STEP, -STEP].map((step) =>
        loss({ ...inputs, [name]: { dims, data: data.with(i, data[i]! + step) } }),
      )
      const numeric = ((await up!) - (await down!)) / (2 * STEP)
      const exact = Number(gradients[`grad:${name}`]!.data[i])
      const error = Math.abs(exact - numeric) / (1 + Math.abs(exact))
      worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error)
    }
  }
  return worst
}

/** Central differences err by h^2, rounding by 1e-16 / h: this is near the best of both. */
const STEP = 1e-5
