/** @file One process of a parameter-server job whose frames are lost, late, repeated and overtake each other: as process.mjs, over a transport of tests. */
import { loadConfig } from '../../src/base/config/index.ts'
import type { Cluster } from '../../src/base/env/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { type Faults, faultyTransport } from '../../src/base/net/faulty.testing.ts'
import { socketTransport } from '../../src/base/net/index.ts'
import { type TrainOptions, train, withServers } from '../../src/training/driver/index.ts'
import { runServer } from '../../src/training/ps/index.ts'

interface Task {
  readonly cluster: Cluster
  readonly path: string
  readonly overrides: readonly string[]
  readonly options?: Partial<TrainOptions>
  readonly faults: Faults
}

const RETRY_MS = 150

const { cluster, path, overrides, options = {}, faults } = JSON.parse(process.argv[2]!) as Task
const emit = (event: Event | object) => void process.stdout.write(`${JSON.stringify(event)}\n`)
const number = 10 * cluster.rank + (cluster.role === 'server' ? 1 : 2)
const transport = faultyTransport(socketTransport, { ...faults, seed: faults.seed + number })
const config = loadConfig({ path, overrides })

try {
  if (cluster.role === 'server') await runServer({ cluster, config, emit, transport })
  else {
    const job = withServers({ cluster, transport, retryMs: RETRY_MS })
    emit({ kind: 'result', ...(await train({ config, emit, ...options }, job)) })
  }
} catch (error) {
  const { message, stack } = error as Error
  emit({ kind: 'failed', message, stack })
  process.exitCode = 1
}
