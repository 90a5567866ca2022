/**
 * @file A delta of a large table beside the same rows written raw: `npm run bench -- --only online` (10 million rows, 1 % changed; `--online-rows`). Processor time is that of finding and
 * writing a delta, as a share of a minute between two.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createFile } from '../src/base/fs/index.ts'
import { writeDelta } from '../src/inference/versions/index.ts'
import { PublishedTables } from '../src/training/online/published-tables.ts'
import { createLocalParams, LocalParams } from '../src/weights/params/index.ts'
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
  const [delta, writing, raw, cpu]: [number[], number[], number[], number[]] = [[], [], [], []]
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
    const written = performance.now()
    const file = await createFile(join(root, `raw-${round}`))
    for (const part of [changes[0]!.signs, changes[0]!.weights])
      await file.write(new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
    await file.close()
    if (round === 0) continue // the first one warms up
    raw.push((performance.now() - written) / 1000)
    delta.push(seconds)
    writing.push(seconds - foundSeconds)
    cpu.push((user + system) / 1e6)
  }
  const [own, written, plain, used] = [median(delta), median(writing), median(raw), median(cpu)]
  const share = used / INTERVAL_SECONDS
  console.log(`\n# ${rows} rows of dim ${DIM}, ${changed} changed, median of ${rounds}\n`)
  console.log(
    `delta ${ms(own)}, of which writing ${ms(written)}; the same rows raw ${ms(plain)}: ${(own / plain).toFixed(2)} times (at most ${MOST_TIMES}), writing alone ${(written / plain).toFixed(2)}`,
  )
  console.log(
    `processor ${ms(used)} a delta: ${(100 * share).toFixed(2)} % of ${INTERVAL_SECONDS} s (at most ${100 * MOST_SHARE} %)`,
  )
  return own <= MOST_TIMES * plain && share <= MOST_SHARE
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
