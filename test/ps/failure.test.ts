/** @file What happens when a process of a job dies, hangs or does not belong: everyone knows soon, says who, and ends. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
import { startJob, training } from './job.testing.ts'
import { othersEnd } from './others-end.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const LONG = ['runner.epochs=100000', 'runner.print_interval=1', 'runner.model_save_path=']

test.each([
  ['server 1', 'SIGKILL', 'async', /server\[1\] 127\.0\.0\.1:\d+ is gone/],
  ['worker 1', 'SIGKILL', 'sync', /worker\[1\] \(this host\) is gone/],
  // Whoever notices first says so; the rest are told by it that the server has left.
  ['server 0', 'SIGSTOP', 'async', /server\[0\] 127\.0\.0\.1:\d+ is gone: (no sign of life|it has left the job)/],
] as const)('%s stopped by %s while training in mode %s: all others name it and end within 5 s', async (...row) => {
  const [name, signal, mode, message] = row
  const overrides = [...LONG, `runner.sync_mode=${mode}`]
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
