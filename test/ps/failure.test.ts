/** @file What happens when a process of a job dies, hangs or does not belong: everyone knows soon, says who, and ends. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
import { type JobOptions, type JobProcess, startJob, training } from './job.testing.ts'
import { othersEnd } from './others-end.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Shorter than unless it is set, so that the test is. */
const SILENCE = 'runner.silence_limit=3.5'
const LONG = ['runner.epochs=100000', 'runner.print_interval=1', 'runner.model_save_path=']

test.each([
  ['server 1', 'SIGKILL', 'async', /server\[1\] 127\.0\.0\.1:\d+ is gone/],
  ['worker 1', 'SIGKILL', 'sync', /worker\[1\] \(this host\) is gone/],
  // Whoever notices first says so; the rest are told by it that the server has left.
  ['server 0', 'SIGSTOP', 'async', /server\[0\] 127\.0\.0\.1:\d+ is gone: (no sign of life|it has left the job)/],
] as const)('%s stopped by %s while training in mode %s: all others name it and end within 5 s', async (...row) => {
  const [name, signal, mode, message] = row
  const overrides = [...LONG, SILENCE, `runner.sync_mode=${mode}`]
  const job = await startJob({ path: join(folder, 'config.yaml'), workers: 2, servers: 2, overrides })
  try {
    await training(job)
    const killed = Date.now()
    job.named(name).child.kill(signal)
    await othersEnd(job, name, killed, message)
  } finally {
    job.kill()
  }
})

describe('a main thread that is busy for longer than runner.silence_limit', () => {
  const busy = async (name: string, mode: string, more: Pick<JobOptions, 'busyMs' | 'options'>) => {
    const overrides = [...LONG, 'runner.silence_limit=2', `runner.sync_mode=${mode}`]
    const job = await startJob({ path: join(folder, 'config.yaml'), workers: 2, servers: 2, overrides, ...more })
    await training(job)
    job.named(name).child.kill('SIGUSR2')
    return job
  }
  const said = ({ events }: JobProcess) =>
    events.flatMap(({ kind, message }) => (kind === 'warning' || kind === 'notice' ? [message as string] : []))

  test.each([
    [
      'server 0',
      'async',
      'worker 0',
      /^server\[0\] 127.* lives, but its main thread has not run for \d+ s; the job waits/,
    ],
    ['worker 1', 'geo', 'server 1', /^worker\[1\] .* lives, but its main thread has not run for \d+ s; the job waits/],
  ])('%s (%s): the others say so, and all go on when it does', async (name, mode, who, message) => {
    const job = await busy(name, mode, { busyMs: 7000 })
    try {
      await expect.poll(() => said(job.named(who))).toContainEqual(expect.stringMatching(message))
      const batches = () =>
        ['worker 0', 'worker 1'].map((one) => job.named(one).events.filter(({ kind }) => kind === 'batch').length)
      // Those of before, and what was under way.
      const before = batches()
      await expect.poll(() => batches().map((count, i) => count > before[i]! + 20)).toEqual([true, true])
      expect(job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'failed'))).toEqual([])
    } finally {
      job.kill()
    }
  })

  test('for longer than FLAGS_rpc_deadline too: the job ends, naming it and for how long', async () => {
    const job = await busy('worker 1', 'geo', { busyMs: 200_000, options: { requestTimeoutMs: 4000 } })
    try {
      expect(await job.named('server 0').ended).toBe(1)
      const failure = job.named('server 0').events.find(({ kind }) => kind === 'failed')
      expect(failure?.['message']).toMatch(
        /^worker\[1\] .* is gone: (its process lives, but its main thread has not run for \d+ s|it has left the job)$/,
      )
      expect(await job.named('worker 0').ended).toBe(1)
    } finally {
      job.kill()
    }
  })
})

test.each([
  [{ cluster: { token: 'other' } }, 'its job token differs'],
  [{ cluster: { jobId: 'another' } }, 'it belongs to job "another", this server to job "test"'],
  [{ overrides: ['hyper_parameters.dim=5'] }, 'its model differs'],
  [{ cluster: { workerNum: 3 } }, 'its number of workers differs'],
  [{ overrides: ['runner.train_batch_size=47'] }, 'its config differs'],
  [{ overrides: ['runner.sync_mode=geo'] }, 'its sync_mode differs (geo there, async at server[0])'],
] as const)('a worker started with %j is refused and told why', async (own, reason) => {
  const job = await startJob({
    path: join(folder, 'config.yaml'),
    workers: 1,
    servers: 1,
    own: { 'worker 0': own },
  })
  try {
    expect(await job.named('worker 0').ended).toBe(1)
    const failure = job.named('worker 0').events.find(({ kind }) => kind === 'failed')
    expect(failure).toMatchObject({ code: 'NET_REFUSED', message: expect.stringContaining(reason) })
  } finally {
    job.kill()
  }
})
