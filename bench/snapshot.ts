/** @file A table saved and loaded: bytes a second. `snapshot.ts ROWS [FOLDER]`; FOLDER says which disk. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { optimizer } from '../src/weights/optim/index.ts'
import { createLocalParams, LocalParams } from '../src/weights/params/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../src/weights/snapshot/index.ts'

const rows = Number(process.argv[2] ?? 10_000_000)
const folder = await mkdtemp(join(process.argv[3] ?? tmpdir(), 'oarfish-bench-'))
const DIM = 9
const open = () => {
  const program = {
    feeds: [],
    rows: [],
    nodes: [],
    fetches: [],
    parameters: [],
    state: [],
    tables: [{ name: 'embedding', dim: DIM, init: { kind: 'uniform', low: -1, high: 1 } as const }],
  }
  return new LocalParams(createLocalParams({ program, optimizer: optimizer.adam(), seed: 1, threads: 1 }), 0)
}

const params = open()
const table = params.tables[0]!
const BATCH = 65_536
const [signs, values] = [new BigUint64Array(BATCH), new Uint8Array(BATCH * table.rowBytes).fill(63)]
for (let first = 0; first < rows; first += BATCH) {
  const n = Math.min(BATCH, rows - first)
  for (let i = 0; i < n; i++) signs[i] = BigInt(first + i)
  table.load(signs.subarray(0, n), values.subarray(0, n * table.rowBytes))
}

const state = {
  program: 'bench',
  seed: 1,
  metrics: {},
  position: { epoch: 1, batch: 0, chunk: 0, sample: 0 },
}
const emit = () => undefined
try {
  const save = await saveSnapshot({ folder: join(folder, '0'), params, state, emit })
  const started = performance.now()
  await loadSnapshot({ snapshot: await openSnapshot(join(folder, '0'), 'bench'), params: open(), emit })
  const loadSeconds = (performance.now() - started) / 1000
  const rate = (seconds: number) => Math.round(save.bytes / seconds / 1e6)
  console.log(
    JSON.stringify({
      rows,
      rowBytes: table.rowBytes,
      megabytes: Math.round(save.bytes / 1e6),
      save: { seconds: Number(save.seconds.toFixed(2)), megabytesPerSecond: rate(save.seconds) },
      load: { seconds: Number(loadSeconds.toFixed(2)), megabytesPerSecond: rate(loadSeconds) },
    }),
  )
} finally {
  await rm(folder, { recursive: true, force: true })
}
