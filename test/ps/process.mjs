/** @file One process of a parameter-server job, for tests and benchmarks: role and peers come as JSON, events go out as JSON lines. */
import { loadConfig } from '../../dist/base/config/index.js'
import { train, withServers } from '../../dist/training/driver/index.js'
import { runServer } from '../../dist/training/ps/index.js'

const { cluster, path, overrides = [], options = {}, busyMs = 0 } = JSON.parse(process.argv[2])
const emit = (event) => process.stdout.write(`${JSON.stringify(event)}\n`)
const controller = new AbortController()
process.on('SIGTERM', () => controller.abort())
// The main thread does nothing else, as in a long call of a library.
process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs))
/** Times are those of the way to the servers, everything else is training's own. */
const trainWorker = ({ cluster, requestTimeoutMs, startTimeoutMs, ...own }) =>
  train(own, withServers({ cluster, requestTimeoutMs, startTimeoutMs }))
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
