/** @file One process of a parameter-server job, for tests and benchmarks: role and peers come as JSON, events go out as JSON lines. */
import { loadConfig } from '../../dist/config/index.js'
import { runServer } from '../../dist/ps/index.js'
import { trainWorker } from '../../dist/train/index.js'

const { cluster, path, overrides = [], options = {} } = JSON.parse(process.argv[2])
const emit = (event) => process.stdout.write(`${JSON.stringify(event)}\n`)
const controller = new AbortController()
process.on('SIGTERM', () => controller.abort())
const run = { server: runServer, worker: trainWorker }[cluster.role]

try {
  const result = await run({
    cluster,
    config: loadConfig({ path, overrides }),
    emit,
    signal: controller.signal,
    ...options,
  })
  if (result) emit({ kind: 'result', ...result })
} catch (error) {
  emit({ kind: 'failed', code: error.code, message: error.message, stack: error.stack })
  process.exitCode = 1
}
