/** @file Initial weights by parts: what servers make, each its own, is what one process makes. */
import { expect, test } from 'vitest'
import { Builder, matmul, mean } from '../../graph/program/index.ts'
import { optimizer } from '../optim/index.ts'
import { denseLayout, initialDense } from './dense-layout.ts'

test('parts of the initial weights are those of the whole, wherever it is cut', () => {
  const builder = new Builder()
  const init = { kind: 'normal', mean: 0, std: 1 } as const
  const weights = [7, 5, 9].map((size, i) => builder.parameter({ name: `w${i}`, shape: [size, 3], init }))
  const x = builder.feed('x', ['B', 7], 'float32')
  const program = builder.build({
    loss: mean(matmul(x, weights[0]!)),
    ...Object.fromEntries(weights.slice(1).map((weight, i) => [`other${i}`, mean(weight)])),
  })
  const layout = denseLayout(program, optimizer.sgd())
  const whole = initialDense(program, layout, 3)
  expect(new Set(whole).size).toBeGreaterThan(60)
  const cuts = [0, 4, 22, 23, 40, layout.floats, layout.floats]
  const parts = cuts.slice(1).map((to, i) => initialDense(program, layout, 3, { from: cuts[i]!, to }))
  expect(Float32Array.from(parts.flatMap((part) => [...part]))).toEqual(whole)
})
