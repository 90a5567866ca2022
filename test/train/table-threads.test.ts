/** @file Several threads on one table at once: no row is lost, doubled or seen half made, while pages split under them. */
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { optimizer } from '../../src/weights/optim/index.ts'
import { createTable, SparseTable } from '../../src/weights/table/index.ts'

const SIGNS = 60_000
const DIM = 4

// Each thread looks up all signs in an order of its own, and adds 1 to the rows whose number is its own modulo the threads.
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
import(workerData.module).then(({ SparseTable, stepFactors, optimizer }) => {
  const { handle, thread, threads, SIGNS, DIM } = workerData
  const table = new SparseTable(handle, thread)
  const sgd = stepFactors(optimizer.sgd({ learningRate: 1 }), 1)
  let wrong = 0
  const BATCH = 500
  for (let start = 0; start < SIGNS; start += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, i) => ((start + i) * [7, 11, 13][thread] + thread * 1000) % SIGNS)
    for (const own of [false, true]) {
      const picked = numbers.filter((n) => (n % threads === thread) === own)
      const distinct = { signs: BigUint64Array.from(picked, (n) => BigInt(n) * 0x9e3779b97f4a7n), lengths: Uint32Array.of(picked.length) }
      const rows = new Float32Array(picked.length * DIM)
      table.lookup(distinct, rows, true)
      // The initial value is 5; each owner subtracts -1 once: anything else was seen half made.
      for (const value of rows) if (value !== 5 && value !== 6) wrong++
      if (own) table.update(distinct, new Float32Array(rows.length).fill(-1), sgd)
    }
  }
  parentPort.postMessage(wrong)
})
`

test('threads insert, split pages and update without losing or doubling a row', async () => {
  const threads = 3
  const handle = createTable({
    name: 'shared',
    dim: DIM,
    init: { kind: 'constant', value: 5 },
    optimizer: optimizer.sgd(),
    seed: 1,
    segments: 1,
  })
  const module = new URL('./table-threads.module.mjs', import.meta.url).href
  const wrong = await Promise.all(
    Array.from({ length: threads }, (_, thread) => {
      const worker = new Worker(WORKER, { eval: true, workerData: { module, handle, thread, threads, SIGNS, DIM } })
      return new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject))
    }),
  )
  expect(wrong).toEqual([0, 0, 0])
  const table = new SparseTable(handle, threads)
  expect(table.rowCount).toBe(SIGNS)
  const seen = new Map<bigint, number>()
  for (const { signs, rows } of table.scan()) {
    const weights = new Float32Array(rows.slice().buffer)
    for (const [i, sign] of signs.entries()) seen.set(sign, weights[i * DIM]!)
  }
  expect(seen.size).toBe(SIGNS)
  expect(new Set(seen.values())).toEqual(new Set([6]))
})
