/** @file Parameter-server jobs over a bad network: four hosts, 1 % of packets lost, 5 ms each way, in every mode. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type JobOptions, startJob, training } from '../ps/job.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { type Network, networkTools, openNetwork } from './network.testing.ts'

const lacking = networkTools()
if (lacking !== undefined) console.warn(`netns is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined)('netns: modes over a bad network', () => {
  let folder: string
  let network: Network
  beforeAll(async () => {
    folder = await tinyFolder()
    network = await openNetwork({ name: 'psmodes', hosts: 4, lossPercent: 1, delayMs: 5 })
  })
  afterAll(async () => {
    network?.close()
    await rm(folder, { recursive: true, force: true })
  })

  interface Result {
    readonly samples: number
    readonly evaluation: Readonly<Record<string, number>>
    readonly digest?: string
  }

  /** Two workers and two servers, each on a host of its own; what the workers return. */
  async function run(mode: string, options: Partial<JobOptions> = {}): Promise<readonly Result[]> {
    const job = await startJob({
      ...{ path: join(folder, 'config.yaml'), workers: 2, servers: 2 },
      options: { digest: true },
      overrides: [
        ...['runner.epochs=2', `runner.sync_mode=${mode}`, 'runner.geo_step=4', 'runner.thread_num=2'],
        `runner.model_save_path=${join(folder, `saved-${mode}`)}`,
      ],
      ...options,
    })
    try {
      await job.success()
      const results = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'result'))
      return results as unknown as readonly Result[]
    } finally {
      job.kill()
    }
  }

  test('sync trains bit for bit what it trains without a network between', async () => {
    const lostBefore = network.lost()
    const [far, near] = [await run('sync', { network }), await run('sync')]
    expect(network.lost()).toBeGreaterThan(lostBefore)
    expect(far[0]!.digest).toMatch(/^[0-9a-f]{64}$/)
    expect(far[0]!.digest).toBe(near[0]!.digest)
  })

  test.each(['async', 'half_async', 'geo'])('%s trains every sample once, learns and saves', async (mode) => {
    const lostBefore = network.lost()
    const results = await run(mode, { network })
    expect(network.lost()).toBeGreaterThan(lostBefore)
    expect(results.map(({ samples }) => samples)).toEqual([2 * 960, 2 * 960])
    expect(results[0]!.evaluation['auc']).toBe(results[1]!.evaluation['auc'])
    expect(results[0]!.evaluation['auc']).toBeGreaterThan(0.85)
  })

  test('hybrid: workers on two hosts average dense gradients by a ring over TCP, rows are on two others', async () => {
    const lostBefore = network.lost()
    const overrides = ['runner.epochs=2', 'runner.fleet_mode=hybrid', 'runner.model_save_path=']
    const results = await run('hybrid', { network, overrides, workersListen: true })
    expect(network.lost()).toBeGreaterThan(lostBefore)
    expect(results.map(({ samples }) => samples)).toEqual([2 * 960, 2 * 960])
    expect(results[0]!.evaluation['auc']).toBe(results[1]!.evaluation['auc'])
    expect(results[0]!.evaluation['auc']).toBeGreaterThan(0.85)
  })

  test.each(['async', 'geo'])('%s learns as well with values in float16, in fewer bytes', async (mode) => {
    const overrides = [
      'runner.epochs=2',
      `runner.sync_mode=${mode}`,
      'runner.geo_step=1',
      'runner.geo_dense_step=1',
      'hyper_parameters.dim=16', // values, and not the rest of what is sent, are most of it
      'runner.model_save_path=',
    ]
    const bytes: number[] = []
    for (const precision of ['float32', 'float16']) {
      const before = network.sentBytes()
      const results = await run(mode, {
        network,
        overrides: [...overrides, `runner.wire_precision=${precision}`],
        options: {},
      })
      bytes.push(network.sentBytes() - before)
      expect(results[0]!.evaluation['auc'], precision).toBeGreaterThan(0.85)
    }
    expect(bytes[1]! / bytes[0]!).toBeLessThan(0.95)
  })

  // Last: the host stays unplugged.
  test('a host that is unplugged while training is named by all others within 5 s', async () => {
    const overrides = ['epochs=100000', 'print_interval=1', 'model_save_path=', 'silence_limit=3.5'].map(
      (one) => `runner.${one}`,
    )
    const job = await startJob({ path: join(folder, 'config.yaml'), workers: 2, servers: 2, network, overrides })
    try {
      await training(job)
      const unplugged = Date.now()
      network.hosts[1]!.unplug()
      for (const other of job.processes.filter(({ name }) => name !== 'server 1')) {
        expect(await other.ended, `${other.name}: ${other.err}`).toBe(1)
        await expectWithin(other.failedAt - unplugged, 5500, other.name)
        const failure = other.events.find(({ kind }) => kind === 'failed')
        expect(failure?.['message'], other.name).toMatch(/^server\[1\] 10\.77\.1\.2:\d+ is gone: no sign of life/)
      }
      // It heard nothing either.
      expect(await job.named('server 1').ended).toBe(1)
    } finally {
      job.kill()
    }
  })
})
