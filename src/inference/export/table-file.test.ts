import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Builder } from '../../graph/program/index.ts'
import { optimizer } from '../../weights/optim/index.ts'
import { createLocalParams, LocalParams } from '../../weights/params/index.ts'
import { FileRows, findSign, indexSigns } from './rows.ts'
import { readTableFile, type TableMemory, writeTableFile } from './table-file.ts'

const DIM = 3
const SEED = 7
const MAX = 2n ** 64n - 1n

describe('a table file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-table-file-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A table with these signs at their initial weights, written and read. */
  async function written(
    name: string,
    signs: readonly bigint[],
  ): Promise<{ params: LocalParams; memory: TableMemory }> {
    const builder = new Builder()
    const init = { kind: 'uniform', low: -1, high: 1 } as const
    const rows = builder.rows({ name: 'rows', table: 't', slots: ['s'], dim: DIM, pooling: 'sum', init })
    const program = builder.build({ out: rows })
    const params = new LocalParams(
      createLocalParams({ program, optimizer: optimizer.adam(), seed: SEED, threads: 1, segments: 1 }),
      0,
    )
    const distinct = { signs: BigUint64Array.from(signs), lengths: Uint32Array.of(signs.length) }
    params.tables[0]!.lookup(distinct, new Float32Array(signs.length * DIM), true)
    const path = join(folder, name)
    const { rows: count, ...mark } = await writeTableFile(path, params, 0)
    expect(count).toBe(signs.length)
    return { params, memory: await readTableFile(path, mark) }
  }

  test('holds signs in unsigned order, zero and the largest too', async () => {
    const { memory } = await written('order', [MAX, 5n, 0n, 2n ** 63n, 2n ** 32n, 2n ** 32n - 1n])
    expect([...new BigUint64Array(memory.signs)]).toEqual([0n, 5n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, MAX])
  })

  test('gives every row as the table has it, and imagines the same rows for other signs', async () => {
    const signs = Array.from({ length: 5000 }, (_, i) => BigInt.asUintN(64, BigInt(i) * 0x9e3779b97f4a7c15n))
    const { params, memory } = await written('rows', signs)
    const unseen = { kind: 'uniform', low: -1, high: 1, seed: '0' } as const
    const table = new FileRows(memory, { name: 't', file: '', dim: DIM, rows: memory.rows, unseen }, SEED)
    const asked = [...signs.slice(0, 50), 12345n, MAX]
    const [here, there] = [new Float32Array(asked.length * DIM), new Float32Array(asked.length * DIM)]
    const distinct = { signs: BigUint64Array.from(asked), lengths: Uint32Array.of(asked.length) }
    params.tables[0]!.lookup(distinct, there, false)
    for (const [i, sign] of asked.entries())
      table.add(Number(sign & 0xffffffffn), Number(sign >> 32n), 1, here, i * DIM)
    expect(here).toEqual(there)
  })

  test('of an empty table has no rows', async () => {
    const { memory } = await written('empty', [])
    expect([memory.rows, memory.weights.byteLength]).toEqual([0, 0])
  })
})

test('every sign is found where it is, and no other', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.bigInt({ min: 0n, max: MAX })), fc.bigInt({ min: 0n, max: MAX }), (some, other) => {
      const signs = BigUint64Array.from(some).sort()
      const words = new Uint32Array(signs.buffer)
      const index = indexSigns(words, signs.length)
      const find = (sign: bigint) => findSign(index, words, Number(sign & 0xffffffffn), Number(sign >> 32n))
      for (const [i, sign] of signs.entries()) expect(find(sign)).toBe(i)
      expect(find(other)).toBe(signs.indexOf(other))
    }),
  )
})
