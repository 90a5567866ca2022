/**
 * @file A Python reader (RecDataset) run by a pool of processes beside the same reader in plain Python: samples a second of both, in turns,
 * and the processor time of a sample, which a busy machine does not change much.
 * `npx jiti bench/python-reader.ts [ROWS] [ROUNDS]`; the Python of the PATH, with its numpy or with the stand-in, runs both.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCriteoLike, listDataFiles, openReaderPool, releaseBatch, type Slot } from '../src/data/index.ts'
import { at, median } from './tools.ts'

const [rows, rounds] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 3)]
const PROCESSES = 2
const TICKS_A_SECOND = 100
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
  const ours: Pass[] = []
  const plain: Pass[] = []
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await pooled(pool, files, round), inPython(files)]
    if (round === 0) continue // processes are up, files are in memory
    ours.push(a)
    plain.push(b)
  }
  await pool.close()
  const of = (passes: readonly Pass[], key: keyof Pass) => median(passes.map((pass) => pass[key]))
  const summary = (passes: readonly Pass[]) => ({
    rate: Math.round(of(passes, 'rate')),
    microseconds: { python: of(passes, 'python'), node: of(passes, 'node') },
  })
  const ratio = of(ours, 'rate') / of(plain, 'rate')
  const processor = of(plain, 'python') / (of(ours, 'python') + of(ours, 'node'))
  const rates = { ours: ours.map(({ rate }) => rate), plain: plain.map(({ rate }) => rate) }
  console.log(JSON.stringify({ rows, ours: summary(ours), plain: summary(plain), ratio, processor, rates }))
} finally {
  rmSync(folder, { recursive: true })
}

/** Samples a second, and microseconds of processor time that a sample took in Python and in Node. */
interface Pass {
  readonly rate: number
  readonly python: number
  readonly node: number
}

async function pooled(pool: ReturnType<typeof openReaderPool>, files: readonly string[], epoch: number): Promise<Pass> {
  const [start, cpu, python] = [performance.now(), process.cpuUsage(), childrenSeconds()]
  let samples = 0
  for await (const batch of pool.read({ files, batchSize: 512, epoch })) {
    samples += batch.size
    releaseBatch(batch)
  }
  const { user, system } = process.cpuUsage(cpu)
  return {
    rate: samples / ((performance.now() - start) / 1000),
    python: ((childrenSeconds() - python) * 1e6) / samples,
    node: (user + system) / samples,
  }
}

/** Processor time of the processes that this one has started and that still run; 0 where there is no /proc. */
function childrenSeconds(): number {
  if (!existsSync('/proc')) return 0
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const ticks = processes.map((pid) => {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
    const [, parent, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(parent) === process.pid ? Number(fields[9]) + Number(fields[10]) : 0
  })
  return ticks.reduce((sum, own) => sum + own, 0) / TICKS_A_SECOND
}

function inPython(files: readonly string[]): Pass {
  const env = { ...process.env, PYTHONPATH: at('python') }
  const printed = execFileSync('python3', [reader, String(PROCESSES), ...files], { env, encoding: 'utf8' })
  const [rate, python] = printed.trim().split('\n').at(-1)!.split(' ').map(Number)
  return { rate: rate!, python: python!, node: 0 }
}
