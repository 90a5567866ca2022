import { describe, expect, test } from 'vitest'
import { amongCopies } from './among-copies.ts'
import { kernelRule, type OptimizerSpec, optimizer, stepFactors } from './optimizer.ts'
import { applyReference } from './reference.testing.ts'

const COPIES = 4
const exact = (value: number) => value

/** How far the last of so many steps goes, for a gradient that stays. */
function lastStep(spec: OptimizerSpec, steps: number): number {
  const cell = { weight: 1, state: Array.from({ length: kernelRule(spec).states }, () => kernelRule(spec).stateInit) }
  let before = cell.weight
  for (let step = 1; step <= steps; step++) {
    before = cell.weight
    applyReference(kernelRule(spec), stepFactors(spec, step), 0, cell, 0.3, exact)
  }
  return before - cell.weight
}

describe('the optimizer of one of several copies', () => {
  test.each([
    optimizer.sgd({ learningRate: 0.1 }),
    optimizer.adagrad({ learningRate: 0.1, initialAccumulator: 0.2 }),
    optimizer.adam({ learningRate: 0.1 }),
    optimizer.rmsprop({ learningRate: 0.1 }),
  ])('goes in its n-th step as far as one process does in its (copies * n)-th: $kind', (spec) => {
    for (const steps of [1, 3, 20])
      expect(lastStep(amongCopies(spec, COPIES), steps)).toBeCloseTo(lastStep(spec, COPIES * steps), 6)
  })

  test('forgets a gradient after as many samples as one process, which in all moves a weight as far', () => {
    const spec = optimizer.momentum({ learningRate: 0.1, momentum: 0.9 })
    const copy = amongCopies(spec, COPIES)
    expect(copy).toMatchObject({ momentum: 0.9 ** COPIES })
    expect(lastStep(copy, 500)).toBeCloseTo(lastStep(spec, 500), 6)
  })

  test('scales the rates that a schedule has of its own', () => {
    const schedule = { kind: 'piecewise', boundaries: [10], values: [0.4, 0.2] } as const
    const { schedule: own } = amongCopies(optimizer.adagrad({ learningRate: 0.4, schedule }), COPIES)
    expect(own).toEqual({ ...schedule, values: [0.2, 0.1] })
    const warmup = { kind: 'warmup', steps: 5, start: 0.2, after: { kind: 'cosine', steps: 9, floor: 0.1 } } as const
    expect(amongCopies(optimizer.adagrad({ schedule: warmup }), COPIES).schedule).toEqual({
      ...warmup,
      start: 0.1,
      after: { ...warmup.after, floor: 0.05 },
    })
  })

  test('is the same where there is one copy', () => {
    const specs = [optimizer.adam(), optimizer.momentum(), optimizer.adagrad(), optimizer.rmsprop(), optimizer.ftrl()]
    for (const spec of specs) expect(amongCopies(spec, 1)).toEqual(spec)
  })
})
