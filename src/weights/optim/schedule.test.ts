import { describe, expect, it } from 'vitest'
import { optimizer, stepFactors } from './optimizer.ts'
import { type Schedule, scheduledRate } from './schedule.ts'

const rates = (schedule: Schedule, steps: readonly number[]) => steps.map((step) => scheduledRate(0.1, schedule, step))

describe('schedules', () => {
  it('constant stays', () => {
    expect(rates({ kind: 'constant' }, [0, 1000])).toEqual([0.1, 0.1])
  })

  it('exponential decays smoothly or in stairs', () => {
    expect(rates({ kind: 'exponential', gamma: 0.5, every: 10 }, [0, 10, 15])).toEqual([0.1, 0.05, 0.1 * 0.5 ** 1.5])
    expect(rates({ kind: 'exponential', gamma: 0.5, every: 10, staircase: true }, [9, 10, 19])).toEqual([
      0.1, 0.05, 0.05,
    ])
  })

  it('piecewise changes at its boundaries', () => {
    const schedule: Schedule = { kind: 'piecewise', boundaries: [100, 200], values: [1, 0.5, 0.1] }
    expect(rates(schedule, [0, 99, 100, 199, 200, 5000])).toEqual([1, 1, 0.5, 0.5, 0.1, 0.1])
  })

  it('warm-up rises to the rate, then hands over', () => {
    const schedule: Schedule = {
      kind: 'warmup',
      steps: 4,
      start: 0.02,
      after: { kind: 'exponential', gamma: 0.5, every: 1 },
    }
    const expected = [0.02, 0.04, 0.1, 0.05]
    rates(schedule, [0, 1, 4, 5]).forEach((rate, i) => {
      expect(rate).toBeCloseTo(expected[i]!, 12)
    })
  })

  it('cosine falls to its floor and stays there', () => {
    const values = rates({ kind: 'cosine', steps: 100, floor: 0.01 }, [0, 50, 100, 150])
    const expected = [0.1, 0.055, 0.01, 0.01]
    values.forEach((rate, i) => {
      expect(rate).toBeCloseTo(expected[i]!, 12)
    })
  })
})

describe('stepFactors', () => {
  it('counts steps from 1 and schedules from 0', () => {
    const spec = optimizer.sgd({ learningRate: 1, schedule: { kind: 'piecewise', boundaries: [1], values: [1, 0.5] } })
    expect([1, 2].map((step) => stepFactors(spec, step).rate)).toEqual([1, 0.5])
  })

  it("folds Adam's bias correction into rate and epsilon", () => {
    const { rate, aux, baseRate } = stepFactors(optimizer.adam({ learningRate: 0.001 }), 1)
    expect(baseRate).toBe(0.001)
    expect(rate).toBeCloseTo((0.001 * Math.sqrt(0.001)) / 0.1, 12)
    expect(aux).toBeCloseTo(1e-8 * Math.sqrt(0.001), 15)
  })

  it('corrects moments by the steps that they have seen, and schedules by all', () => {
    const spec = optimizer.adam({ schedule: { kind: 'piecewise', boundaries: [1], values: [1, 0.5] } })
    const [own, shared] = [stepFactors(spec, 1), stepFactors(spec, 2, 1)]
    expect(shared.rate).toBeCloseTo(own.rate / 2, 12)
    expect(shared.aux).toBe(own.aux)
  })
})
