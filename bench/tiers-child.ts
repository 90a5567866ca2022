/** @file One run of bench/tiers.ts in a process of its own: `tiers-child.ts ROWS LIMIT|none SAMPLES DATA FOLDER`. Prints a JSON line. */
import { readFileSync } from 'node:fs'
import { loadConfig } from '../src/base/config/index.ts'
import type { EventOf } from '../src/base/event/index.ts'
import { train } from '../src/training/driver/index.ts'
import type { LocalParams } from '../src/weights/params/index.ts'
import { at } from './tools.ts'

const [rowsText, limit, samplesText, data, folder] = process.argv.slice(2) as [string, string, string, string, string]
const [rows, samples] = [Number(rowsText), Number(samplesText)]

const overrides = [
  `runner.train_data_dir=${data}`,
  'runner.model_save_path=',
  'runner.train_batch_size=512',
  'runner.print_interval=20',
  'runner.epochs=1',
  'runner.table_segments=8',
  'runner.training_warnings=False',
  ...(limit === 'none'
    ? []
    : [
        'table_parameters.embedding.table_class=SSDSparseTable',
        `table_parameters.embedding.memory_limit=${limit}`,
        `table_parameters.embedding.ssd_path=${folder}`,
      ]),
]

const resident = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
const disk = () => {
  const text = readFileSync('/proc/self/io', 'utf8')
  const of = (key: string) => Number(new RegExp(`^${key}: (\\d+)`, 'm').exec(text)![1])
  return { read: of('read_bytes'), written: of('write_bytes') }
}

/** Every id gets its row before training begins: the frequent ones first, which stay in memory as they do when training has gone on for long. */
function fill({ tables }: LocalParams): void {
  const [table] = tables
  const block = 65_536
  const bytes = new Uint8Array(block * table!.rowBytes)
  for (let first = 1; first <= rows; first += block) {
    const n = Math.min(block, rows + 1 - first)
    const signs = BigUint64Array.from({ length: n }, (_, i) => BigInt(first + i))
    table!.load(signs, bytes.subarray(0, n * table!.rowBytes), true)
  }
}

let [mostResident, loadSeconds] = [0, 0]
const marks: { samples: number; ms: number; disk: ReturnType<typeof disk>; cpu: NodeJS.CpuUsage }[] = []
let last: EventOf<'rows'> | undefined
const before = resident()
await train({
  config: loadConfig({ path: at('models/rank/dnn/config.yaml'), overrides, cwd: at() }),
  emit: (event) => {
    if (event.kind === 'batch' && event.phase === 'train') {
      mostResident = Math.max(mostResident, resident())
      marks.push({ samples: event.samples, ms: performance.now(), disk: disk(), cpu: process.cpuUsage() })
    }
    if (event.kind === 'rows') last ??= event // that of training, not of the evaluation
  },
  rules: {
    checkpoints: {
      prepare: async () => {},
      load: async ({ params }) => {
        const started = performance.now()
        fill(params)
        loadSeconds = (performance.now() - started) / 1000
        return { position: { epoch: 0, batch: 0, chunk: 0, sample: 0 } }
      },
      saves: () => false,
      save: async () => undefined,
    },
  },
})
// The second half: by then memory has the rows that batches want.
const [half, end] = [marks.find((mark) => mark.samples >= samples / 2)!, marks.at(-1)!]
const trained = end.samples - half.samples
console.log(
  JSON.stringify({
    limit,
    rows,
    samplesPerSecond: Math.round((1000 * trained) / (end.ms - half.ms)),
    // Of all threads, a sample: who else uses the machine matters less to these.
    userMicroseconds: Math.round((end.cpu.user - half.cpu.user) / trained),
    systemMicroseconds: Math.round((end.cpu.system - half.cpu.system) / trained),
    readSeconds: last && Number(last.readSeconds.toFixed(1)),
    waitedSeconds: last && Number(last.waitedSeconds.toFixed(1)),
    loadSeconds: Math.round(loadSeconds),
    baseMegabytes: Math.round(before / 1e6),
    mostResidentMegabytes: Math.round(mostResident / 1e6),
    tableMegabytes: last && Math.round(last.memoryBytes / 1e6),
    hitRate: last && Number(last.hitRate.toFixed(4)),
    diskMegabytes: last && Math.round(last.diskBytes / 1e6),
    readBytesPerSample: Math.round((end.disk.read - half.disk.read) / trained),
    writtenBytesPerSample: Math.round((end.disk.written - half.disk.written) / trained),
  }),
)
process.exit(0)
