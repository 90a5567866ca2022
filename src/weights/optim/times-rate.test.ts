import { expect, test } from 'vitest'
import { optimizer } from './optimizer.ts'
import { timesRate } from './times-rate.ts'

test('rates that a schedule has of its own are scaled too', () => {
  const schedule = { kind: 'piecewise', boundaries: [10], values: [0.4, 0.2] } as const
  expect(timesRate(optimizer.adagrad({ learningRate: 0.4, schedule }), 0.5)).toMatchObject({
    learningRate: 0.2,
    schedule: { ...schedule, values: [0.2, 0.1] },
  })
  const warmup = { kind: 'warmup', steps: 5, start: 0.2, after: { kind: 'cosine', steps: 9, floor: 0.1 } } as const
  expect(timesRate(optimizer.adagrad({ schedule: warmup }), 0.5).schedule).toEqual({
    ...warmup,
    start: 0.1,
    after: { ...warmup.after, floor: 0.05 },
  })
})
