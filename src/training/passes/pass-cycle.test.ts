/** @file Passes in order and out of order, and days between them. */
import { expect, test } from 'vitest'
import { optimizer } from '../../weights/optim/index.ts'
import { createTable, SparseTable } from '../../weights/table/index.ts'
import { createSides, PassCycle, type PassSamples } from './pass-cycle.ts'

function openCycle() {
  const spec = optimizer.sgd({ learningRate: 0.1 })
  const handle = {
    ...createTable({ name: 't', dim: 2, init: { kind: 'constant', value: 1 }, optimizer: spec, seed: 1 }),
    optimizer: spec,
  }
  const sides = createSides([handle])
  const threads = { collect: async () => 0, writeBack: async () => 0 }
  const trainers = { beginPass: async () => 0, endPass: async () => 0 }
  return new PassCycle({ host: [new SparseTable(handle, 0)], sides, threads: threads as never, trainers, thread: 0 })
}

const samples = (key: string): PassSamples => ({
  key,
  load: async () => ({ samples: 0, pieces: [], batches: () => [] }),
})

test('a pass that is begun twice, and one that ends without a beginning, say what the original says', async () => {
  const cycle = openCycle()
  await expect(cycle.beginPass()).rejects.toThrow('no pass was loaded')
  await expect(cycle.endPass()).rejects.toThrow('[EndPass] current task has been ended.')
  cycle.prepare(samples('a'))
  await cycle.beginPass()
  await expect(cycle.beginPass()).rejects.toThrow('[BeginPass] current task is not ended.')
  await cycle.endPass()
  await expect(cycle.endPass()).rejects.toThrow('[EndPass] current task has been ended.')
})

test('a pass of the same samples is not loaded again', async () => {
  const cycle = openCycle()
  let loads = 0
  const load = () => {
    loads++
    return samples('a').load()
  }
  for (let i = 0; i < 3; i++) {
    cycle.prepare({ key: 'a', load })
    await cycle.beginPass()
    await cycle.endPass()
  }
  expect(loads).toBe(1)
})

test('days go forward, between passes', async () => {
  const cycle = openCycle()
  cycle.setDate('20261117')
  expect(cycle.setDate('20261119')).toBe(0)
  expect(() => cycle.setDate('20261118')).toThrow('lies before 20261119')
  expect(() => cycle.setDate('20261131')).toThrow('expected a day as YYYYMMDD')
  cycle.prepare(samples('a'))
  await cycle.beginPass()
  expect(() => cycle.setDate('20261120')).toThrow('current task is not ended')
})
