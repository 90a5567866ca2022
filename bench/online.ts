/**
 * @file A delta of a large table beside the same rows written raw: `npm run bench -- --only online` (10 million rows, 1 % changed; `--online-rows`). Raw is once what
 * takes the changed rows out of the table and writes them as they are, and once their writing alone. Processor time is that of finding and writing a delta, as a share
 * of a minute between two.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createFile } from '../src/base/fs/index.ts'
import { writeDelta } from '../src/inference/versions/index.ts'
import { PublishedTables } from '../src/training/online/published-tables.ts'
import { createLocalParams, LocalParams } from '../src/weights/params/index.ts'
import type { SparseTable } from '../src/weights/table/index.ts'
import { median, scratch } from './tools.ts'

const DIM = 9
const CHANGED = 0.01
const MOST_TIMES = 1.5
const MOST_SHARE = 0.02
const INTERVAL_SECONDS = 60

export async function measureOnline(rows: number, rounds: number): Promise<boolean> {
  const params = tableOf(rows)
  const [table] = params.tables
  const whole = { params }
  const tables = new PublishedTables(params, 'float32')
  await tables.changes(whole, true)
  tables.settle()
  const root = scratch('online')
  rmSync(root, { recursive: true, force: true })
  mkdirSync(root, { recursive: true })
  const [delta, writing, raw, rawWriting, cpu]: number[][] = [[], [], [], [], []]
  const changed = Math.round(rows * CHANGED)
  for (let round = 0; round <= rounds; round++) {
    const signs = BigUint64Array.from({ length: changed }, (_, i) => 1n + BigInt((i * 97 + round * 31) % rows))
    table!.load(signs, rowsOf(changed, round + 1))
    const folder = join(root, String(round))
    mkdirSync(folder)
    const before = process.cpuUsage()
    const started = performance.now()
    const changes = await tables.changes(whole, false)
    const found = performance.now()
    const place = { day: '20190720', pass: round, follows: 'a', base: 'a', sequence: round, steps: round }
    await writeDelta({ folder, model: new Uint8Array(0), tables: changes, ...place })
    const [seconds, foundSeconds] = [(performance.now() - started) / 1000, (found - started) / 1000]
    const { user, system } = process.cpuUsage(before)
    tables.settle()
    table!.load(signs, rowsOf(changed, round + 1)) // changed again, for the other side
    const [found2, written] = await writeRaw(table!, join(root, `raw-${round}`))
    table!.forgetChanges()
    if (round === 0) continue // the first one warms up
    raw!.push(found2 + written)
    rawWriting!.push(written)
    delta!.push(seconds)
    writing!.push(seconds - foundSeconds)
    cpu!.push((user + system) / 1e6)
  }
  const [own, written, plain, plainWritten, used] = [delta, writing, raw, rawWriting, cpu].map((all) => median(all!))
  const share = used! / INTERVAL_SECONDS
  console.log(`\n# ${rows} rows of dim ${DIM}, ${changed} changed, median of ${rounds}\n`)
  console.log(
    `delta ${ms(own!)}, the same rows taken out and written raw ${ms(plain!)}: ${(own! / plain!).toFixed(2)} times (at most ${MOST_TIMES})`,
  )
  console.log(
    `of which writing ${ms(written!)}, raw ${ms(plainWritten!)}: ${(written! / plainWritten!).toFixed(2)} times; the whole delta ${(own! / plainWritten!).toFixed(1)} times raw writing alone`,
  )
  console.log(
    `processor ${ms(used!)} a delta: ${(100 * share).toFixed(2)} % of ${INTERVAL_SECONDS} s (at most ${100 * MOST_SHARE} %)`,
  )
  return own! <= MOST_TIMES * plain! && share <= MOST_SHARE
}

/** Seconds of taking the changed rows out of the table, and of writing them. */
async function writeRaw(table: SparseTable, path: string): Promise<readonly [number, number]> {
  const file = await createFile(path)
  let [taken, written] = [0, 0]
  let before = performance.now()
  for (const { signs, rows } of table.changed()) {
    const found = performance.now()
    await file.write(new Uint8Array(signs.buffer, signs.byteOffset, signs.byteLength))
    await file.write(rows)
    taken += found - before
    before = performance.now()
    written += before - found
  }
  await file.close()
  return [taken / 1000, (written + performance.now() - before) / 1000]
}

const ms = (seconds: number) => `${(1000 * seconds).toFixed(1)} ms`

function tableOf(rows: number): LocalParams {
  const program = {
    ...{ feeds: [], rows: [], nodes: [], fetches: [], parameters: [], state: [] },
    tables: [{ name: 'embedding', dim: DIM, init: { kind: 'constant', value: 0 } }],
  }
  const options = { optimizer: { kind: 'sgd', learningRate: 0.1 }, seed: 1, segments: 8, threads: 1 }
  const params = new LocalParams(createLocalParams({ program, ...options } as never), 0)
  const block = 1 << 16
  for (let first = 1; first <= rows; first += block) {
    const n = Math.min(block, rows + 1 - first)
    params.tables[0]!.load(
      BigUint64Array.from({ length: n }, (_, i) => BigInt(first + i)),
      rowsOf(n, 0),
    )
  }
  return params
}

function rowsOf(count: number, value: number): Uint8Array {
  return new Uint8Array(new Float32Array(count * DIM).map((_, i) => value + i / count).buffer)
}
