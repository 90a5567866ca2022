/**
 * @file What a cut takes of the thread whose rows it holds, part by part: `cut-rows.ts [ROWS] [FOLDER]`. A table of the dnn (dim 9, Adam), rows made
 * in another order than the index has them, of which 100, 33, 10 and 1 % changed since the cut before. Processor time, so that it may run beside others.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { optimizer } from '../src/weights/optim/index.ts'
import { beginParts } from '../src/weights/snapshot/index.ts'
import { openThreadClock } from '../src/weights/snapshot/thread-clock.ts'
import { createTable, SparseTable } from '../src/weights/table/index.ts'

const rows = Number(process.argv[2] ?? 5_000_000)
const DIM = 9
const BATCH = 65_536
const init = { kind: 'uniform', low: -1, high: 1 } as const
const table = new SparseTable(createTable({ name: 't', dim: DIM, init, optimizer: optimizer.adam(), seed: 1 }), 0)
const values = new Uint8Array(BATCH * table.rowBytes).fill(63)

/** Loads every `each`th sign, which counts as a change. */
function change(each: number): void {
  const signs = new BigUint64Array(BATCH)
  for (let first = 0; first < rows; first += BATCH * each) {
    const n = Math.min(BATCH, Math.ceil((rows - first) / each))
    for (let i = 0; i < n; i++) signs[i] = BigInt(first + i * each)
    table.load(signs.subarray(0, n), values.subarray(0, n * table.rowBytes))
  }
}

change(1)
const folder = await mkdtemp(join(process.argv[3] ?? tmpdir(), 'oarfish-bench-'))
const clock = openThreadClock()
try {
  let number = 0
  for (const each of [1, 1, 3, 10, 100]) {
    change(each)
    let from = clock.now()
    let bytes = 0
    for (const { signs, rows: found } of table.changed()) bytes += signs.byteLength + found.byteLength
    const scanSeconds = (clock.now() - from) / 1000
    from = clock.now()
    const begun = await beginParts({ aside: folder, number: number++, tables: [[0, table]], changed: true })
    const beginSeconds = (clock.now() - from) / 1000
    const [part] = await begun.finish()
    const threadSeconds = (clock.now() - from) / 1000
    console.log(
      JSON.stringify({
        ...{ rows, changed: part!.part.rows, megabytes: Math.round(bytes / 1e6) },
        ...{ scanSeconds, beginSeconds, threadSeconds, workSeconds: part!.workSeconds },
      }),
    )
  }
} finally {
  clock.close()
  await rm(folder, { recursive: true, force: true })
}
