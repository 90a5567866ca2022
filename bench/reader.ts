/** @file The reader alone: samples and bytes a second from files to batches. `reader.ts DIR FORMAT THREADS [PIPE_COMMAND]` */
import {
  listDataFiles,
  openReader,
  pipeCommand,
  type ReaderOptions,
  releaseBatch,
  type Slot,
} from '../src/data/index.ts'
import { COLUMNS } from './tables.ts'
import { at } from './tools.ts'

const [dir, format, threads, command] = [process.argv[2]!, process.argv[3]!, Number(process.argv[4]), process.argv[5]]
const slots: Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  ...Array.from({ length: 26 }, (_, i): Slot => ({ kind: 'sparse', name: String(i + 1) })),
  { kind: 'dense', name: 'dense_feature', width: 13, dtype: 'float32' },
]
const files = await listDataFiles(dir)
for (const run of ['warm', 'timed']) {
  const reader = openReader({ files, slots, batchSize: 512, threads, epoch: 0, ...inputOf() })
  let samples = 0
  let start = 0
  const cpu = process.cpuUsage()
  for await (const batch of reader) {
    if (samples === 0) start = performance.now() // threads are up
    samples += batch.size
    releaseBatch(batch)
  }
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const cpuSeconds = (user + system) / 1e6
  const row = {
    dir,
    format,
    command,
    threads,
    samples,
    samplesPerSecond: samples / seconds,
    megabytesPerSecond: reader.totalBytes / seconds / 1e6,
  }
  if (run === 'timed') console.log(JSON.stringify({ ...row, cpuMsPerBatch: (cpuSeconds * 1000 * 512) / samples }))
}

function inputOf(): Partial<ReaderOptions> {
  if (format === 'csv' || format === 'parquet') return { table: format, columns: { columns: COLUMNS } }
  const pipe = command === undefined ? undefined : pipeCommand({ command, yaml: 'none', dir: at('bench'), cwd: dir })
  return { format: format as 'slot' | 'multislot', ...(pipe && { pipe }) }
}
