/** @file An op is one row in each of four tables; forgetting one does not compile. `tsc` is what runs this file's point. */
import { expect, test } from 'vitest'
import { GRADIENT_RULES, type GradientRules } from '../../src/graph/autodiff/index.ts'
import { REFERENCE_RULES, type ReferenceRules } from '../../src/graph/engine/reference-rules.ts'
import { LOWERING_RULES, type LoweringRules } from '../../src/graph/onnx/lowering.ts'
import { SHAPE_RULES, type ShapeRules } from '../../src/graph/program/index.ts'

test('a table without a row for an op is a compile error', () => {
  const { tanh: _shape, ...shape } = SHAPE_RULES
  const { tanh: _gradient, ...gradient } = GRADIENT_RULES
  const { tanh: _lowering, ...lowering } = LOWERING_RULES
  const { tanh: _reference, ...reference } = REFERENCE_RULES
  // @ts-expect-error no shape for tanh
  const shapes: ShapeRules = shape
  // @ts-expect-error no gradient for tanh
  const gradients: GradientRules = gradient
  // @ts-expect-error no ONNX form for tanh
  const lowerings: LoweringRules = lowering
  // @ts-expect-error no reference evaluation for tanh
  const references: ReferenceRules = reference
  for (const table of [shapes, gradients, lowerings, references]) expect(Object.keys(table)).not.toContain('tanh')
})

test('the four tables have the same ops', () => {
  const kinds = Object.keys(SHAPE_RULES).sort()
  for (const table of [GRADIENT_RULES, LOWERING_RULES, REFERENCE_RULES])
    expect(Object.keys(table).sort()).toEqual(kinds)
})
