/** @file Every gradient rule against finite differences. */
import { describe, expect, test } from 'vitest'
import { GRADIENT_RULES } from '../../src/graph/autodiff/index.ts'
import type { OpCase } from './case.ts'
import { gradientError } from './gradient-check.ts'
import { LAYER_CASES } from './layer-cases.ts'
import { OP_CASES } from './op-cases.ts'

const TOLERANCE = 1e-7

describe('the gradient of', () => {
  const differentiable = Object.entries<OpCase>({ ...OP_CASES, ...LAYER_CASES }).filter(
    ([, { differentiable = true, numeric = true }]) => differentiable && numeric,
  )
  test.each(differentiable)('%s agrees with finite differences', async (_, op) => {
    for (const seed of [1, 2]) expect(await gradientError(op, { seed })).toBeLessThan(TOLERANCE)
  })
})

test('a deliberately broken rule makes the check fail', async () => {
  const broken = { ...GRADIENT_RULES, tanh: ((g) => [g]) as typeof GRADIENT_RULES.tanh }
  expect(await gradientError(OP_CASES.tanh)).toBeLessThan(TOLERANCE)
  expect(await gradientError(OP_CASES.tanh, { rules: broken })).toBeGreaterThan(1e-2)
})

test('a rule that forgets an operand makes the check fail', async () => {
  const broken = {
    ...GRADIENT_RULES,
    mul: ((g, application) => [GRADIENT_RULES.mul(g, application)[0]!, null]) as typeof GRADIENT_RULES.mul,
  }
  expect(await gradientError(OP_CASES.mul, { rules: broken })).toBeGreaterThan(1e-2)
})
