/** @file The accuracy table's jobs in one thread are those of real workers: over connections the same order gives the same weights. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { batchesOf, openSamples } from '../../bench/accuracy/samples.ts'
import { type Mode, type SimulateOptions, simulate } from '../../bench/accuracy/simulate.ts'
import { memoryTransport } from '../../src/base/net/memory.testing.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import { type Feeds, metric, optimizer } from '../../src/index.ts'
import { traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { concat, mean, sigmoid, type Tensor } from '../../src/nn.ts'
import { type ParameterServer, ServerGroup, serveWorkers } from '../../src/training/ps/index.ts'

const BATCH = 16
const WORKERS = 2

class Tiny {
  createFeeds({ label, sparse, dense }: Feeds) {
    return { click: label('click'), slots: [sparse('2'), sparse('5'), sparse('8')], x: dense('dense_feature', 13) }
  }

  net({ click, slots, x }: { click: Tensor; slots: nn.SparseSlot[]; x: Tensor }) {
    const rows = nn.embedding(slots, { name: 'rows', dim: 4 })
    const logit = nn.linear(concat([rows, x], 1), { name: 'out', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), metrics: { auc: metric.auc(sigmoid(logit), click) } }
  }

  createOptimizer() {
    return optimizer.adam({ learningRate: 0.01, lazy: true })
  }
}

let options: Omit<SimulateOptions, 'mode'>
const open: { close(): unknown }[] = []

beforeAll(async () => {
  const model = traceModel(new Tiny() as never)
  const engine = ortEngine()
  const sessions = { train: await engine.compile(model.train), infer: await engine.compile(model.infer) }
  const { train, test } = openSamples({ data: 'criteo', rows: 20 * BATCH, testRows: 64, seed: 3 }, model.slots)
  options = {
    ...{ model, sessions, workers: WORKERS, servers: 2, seed: 3, batchSize: BATCH },
    ...{ train: batchesOf(train, BATCH), test: batchesOf(test, BATCH), geo: { step: 4, denseStep: 2 } },
  }
})

afterAll(async () => {
  for (const one of open) await one.close()
})

test.each<Mode>(['sync', 'half_async', 'async', 'geo'])('%s: connections change nothing', async (mode) => {
  const direct = await simulate({ ...options, mode })
  expect(await simulate({ ...options, mode, link: connected() })).toEqual(direct)
  expect(await simulate({ ...options, mode, seed: 4 })).not.toEqual(direct)
})

test('threads: a thread of the pool makes the steps of one process, several make as many', async () => {
  const one = await simulate({ ...options, mode: 'one', workers: 1 })
  expect(await simulate({ ...options, mode: 'threads', workers: 1 })).toEqual(one)
  const { auc: two } = await simulate({ ...options, mode: 'threads', workers: 2 })
  expect(two!.labels).toEqual(one['auc']!.labels)
  expect(two!.predictions.every((score, i) => Math.abs(score - one['auc']!.predictions[i]!) < 0.1)).toBe(true)
})

/** Frames, heartbeats and requests as between processes, over an in-process transport. */
function connected(): NonNullable<SimulateOptions['link']> {
  const transport = memoryTransport()
  const shared = { jobId: 'simulated', token: 'simulated', agreement: {} }
  let listening: Promise<unknown> | undefined
  const groups = new Map<number, Promise<ServerGroup>>()
  const listen = (servers: readonly ParameterServer[]) =>
    Promise.all(
      servers.map(async (server, rank) => {
        const identity = { ...shared, role: 'server' as const, rank }
        const service = serveWorkers({ server, workers: WORKERS, identity, emit: () => undefined, deadAfterMs: 60_000 })
        service.done(60_000).catch(() => undefined)
        open.push(await transport.listen(`server-${rank}`, service.accept))
      }),
    )
  const connect = async (servers: readonly ParameterServer[], rank: number) => {
    listening ??= listen(servers)
    await listening
    const endpoints = servers.map((_, server) => `server-${server}`)
    const identity = { ...shared, role: 'worker' as const, rank }
    const group = await ServerGroup.open({ servers: endpoints, identity, transport, deadAfterMs: 60_000 })
    open.push(group)
    return group
  }
  return (servers, rank) => {
    const group = groups.get(rank) ?? connect(servers, rank)
    groups.set(rank, group)
    return async (...asked) => (await group).ask(...asked)
  }
}
