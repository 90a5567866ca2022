import { expect, test } from 'vitest'
import { backward } from '../autodiff/index.ts'
import { ortEngine } from '../engine/index.ts'
import { Builder } from '../program/index.ts'
import { nextItemLoss } from './next-item.ts'

/** The gradient of the first item's state in batches of two sequences of so many items. */
async function firstGradient(items: number): Promise<number> {
  const b = new Builder()
  const states = b.parameter({ name: 'states', shape: [2, items, 1], init: { kind: 'zeros' } })
  const [own, others] = [b.feed('own', [2, items, 1], 'float32'), b.feed('others', [2, items, 1], 'float32')]
  const loss = nextItemLoss(states, own, others, b.feed('mask', [2, items], 'float32'))
  const session = await ortEngine().compile(backward(b.build({ loss }), 'loss'))
  const of = (value: number, dims: readonly number[]) => ({
    dims,
    data: new Float32Array(2 * items).fill(value),
  })
  const result = await session.run({
    ...{ states: of(0.5, [2, items, 1]), own: of(1, [2, items, 1]), others: of(-1, [2, items, 1]) },
    mask: of(1, [2, items]),
  })
  await session.close()
  const [name] = Object.keys(result).filter((key) => key !== 'loss')
  return Number((result[name!]!.data as Float32Array)[0])
}

test('an item teaches as much in a batch of long sequences as in one of short ones', async () => {
  const [short, long] = [await firstGradient(1), await firstGradient(33)]
  expect(Math.abs(short)).toBeGreaterThan(0.01)
  expect(long / short).toBeCloseTo(1, 5)
})
