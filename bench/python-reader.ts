/**
 * @file A Python reader (RecDataset) run by a pool of processes beside the same reader in plain Python: samples a second of both, in turns.
 * `npx jiti bench/python-reader.ts [ROWS] [ROUNDS]`; the Python of the PATH, with its numpy or with the stand-in, runs both.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCriteoLike, listDataFiles, openReaderPool, releaseBatch, type Slot } from '../src/data/index.ts'
import { at, median } from './tools.ts'

const [rows, rounds] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 3)]
const PROCESSES = 2
const reader = at('bench/rec_dataset.py')
const slots: Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  ...Array.from({ length: 26 }, (_, i): Slot => ({ kind: 'sparse', name: String(i + 1) })),
  { kind: 'dense', name: 'dense_feature', width: 13, dtype: 'float32' },
]
const folder = mkdtempSync(join(tmpdir(), 'oarfish-bench-'))
try {
  generateCriteoLike({ rows, parts: 8, out: join(folder, 'data'), testShare: 0.01 })
  const files = await listDataFiles(join(folder, 'data', 'train'))
  const python = { path: reader, dir: folder, yaml: '', cwd: folder, config: {} }
  const pool = openReaderPool({ slots, threads: PROCESSES, python })
  const ours: number[] = []
  const plain: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await pooled(pool, files, round), inPython(files)]
    if (round === 0) continue // processes are up, files are in memory
    ours.push(a)
    plain.push(b)
  }
  await pool.close()
  const [a, b] = [median(ours), median(plain)]
  console.log(JSON.stringify({ rows, processes: PROCESSES, ours: a, plain: b, ratio: a / b, rounds: { ours, plain } }))
} finally {
  rmSync(folder, { recursive: true })
}

async function pooled(
  pool: ReturnType<typeof openReaderPool>,
  files: readonly string[],
  epoch: number,
): Promise<number> {
  const start = performance.now()
  let samples = 0
  for await (const batch of pool.read({ files, batchSize: 512, epoch })) {
    samples += batch.size
    releaseBatch(batch)
  }
  return samples / ((performance.now() - start) / 1000)
}

function inPython(files: readonly string[]): number {
  const env = { ...process.env, PYTHONPATH: at('python') }
  const printed = execFileSync('python3', [reader, String(PROCESSES), ...files], { env, encoding: 'utf8' })
  return Number(printed.trim().split('\n').at(-1))
}
