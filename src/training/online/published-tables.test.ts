import { expect, test } from 'vitest'
import type { LocalParams } from '../../weights/params/index.ts'
import type { WholeModel } from '../driver/index.ts'
import { PublishedTables } from './published-tables.ts'

test('rows of a delta that could not be written come with the next, though nobody touched them again', async () => {
  const rows = new Map<bigint, number>([
    [1n, 1],
    [2n, 2],
  ])
  const changed = new Set<bigint>()
  const train = (sign: bigint, value: number) => {
    rows.set(sign, value)
    changed.add(sign)
  }
  const params = { tables: [{ name: 'embedding', dim: 1, rowBytes: 4 }] } as unknown as LocalParams
  const whole = {
    params,
    lostRows: async () => false,
    readRows: (_: number, changedOnly: boolean) => {
      const read = [...rows].filter(([sign]) => !changedOnly || changed.has(sign))
      const values = Float32Array.from(read.map(([, value]) => value))
      return [{ signs: BigUint64Array.from(read.map(([sign]) => sign)), rows: new Uint8Array(values.buffer) }]
    },
    forgetChanges: async () => changed.clear(),
  } as unknown as WholeModel
  const tables = new PublishedTables(params, 'float32')
  await tables.changes(whole, true)
  tables.settle()
  train(1n, 10)
  await tables.changes(whole, false)
  tables.owe() // the disk was full
  train(2n, 20)
  const [next] = await tables.changes(whole, false)
  expect([[...next!.signs], [...next!.weights]]).toEqual([
    [1n, 2n],
    [10, 20],
  ])
  tables.settle()
  expect((await tables.changes(whole, false))[0]!.signs).toHaveLength(0)
})
