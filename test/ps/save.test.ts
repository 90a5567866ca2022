/** @file What a parameter-server job saves, starts from and leaves behind when it is stopped or cannot save. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inferTiny, TRAIN_ONLY, tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { type Job, type JobOptions, startJob, training } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  const dygraph = await readFile(fileURLToPath(new URL('../dygraph/tiny.model.ts', import.meta.url)), 'utf8')
  await writeFile(join(folder, 'dygraph_model.ts'), dygraph.replace('../train/tiny.model.ts', './static_model.ts'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Result {
  readonly samples: number
  readonly evaluation: Readonly<Record<string, number>>
  readonly digest?: string
  readonly interrupted: boolean
}

const start = (options: Omit<JobOptions, 'path'>, config = 'config.yaml') =>
  startJob({ path: join(folder, config), ...options })
const eventsOf = (job: Job, name: string, kind: string) =>
  job.named(name).events.filter((event) => event['kind'] === kind) as Record<string, never>[]

async function run(options: Omit<JobOptions, 'path'>): Promise<{ job: Job; result: Result }> {
  const job = await start(options)
  try {
    await job.success()
    return { job, result: eventsOf(job, 'worker 0', 'result')[0] as unknown as Result }
  } finally {
    job.kill()
  }
}

const sync = (path: string, ...more: string[]) => ['runner.sync_mode=sync', `runner.model_save_path=${path}`, ...more]

describe('a saved epoch', () => {
  test('has a part for each server, and is what one process saves: predictions, tables and export', async () => {
    const path = join(folder, 'parts')
    const overrides = sync(path, 'runner.use_inference=True')
    const { result } = await run({ workers: 1, servers: 3, overrides, options: { digest: true } })
    const alone = await trainTiny(folder, [
      `runner.model_save_path=${join(folder, 'alone')}`,
      'runner.use_inference=True',
    ])
    expect(result.digest).toBe(alone.result.digest)
    const names = (await readdir(join(path, '0', 'inference'))).sort()
    expect(names).toEqual((await readdir(join(folder, 'alone', '0', 'inference'))).sort())
    const scores = async (from: string) =>
      JSON.parse(await readFile(join(from, '0', 'inference', 'samples.json'), 'utf8'))
    expect(await scores(path)).toEqual(await scores(join(folder, 'alone')))
    const streamed = join(folder, 'streamed')
    await run({ workers: 1, servers: 3, overrides: sync(streamed) })
    const manifest = JSON.parse(await readFile(join(streamed, '0', 'manifest.json'), 'utf8'))
    for (const { parts } of manifest.tables) expect(parts).toHaveLength(3)
    const load = [`runner.infer_load_path=${streamed}`, 'runner.infer_start_epoch=0', 'runner.infer_end_epoch=1']
    expect((await inferTiny(folder, load)).result.epochs[0]!.metrics).toEqual(alone.result.evaluation)
  })

  test.each([1, 3, 7])('saved on 4 servers, trains on bit for bit on %i', async (servers) => {
    const path = join(folder, `four-${servers}`)
    await run({ workers: 1, servers: 4, overrides: sync(path) })
    const more = sync(path, 'runner.epochs=2', 'runner.last_epoch=0')
    const { result } = await run({ workers: 1, servers, overrides: more, options: { digest: true } })
    const alone = await trainTiny(folder, ['runner.epochs=2', 'runner.model_save_path='])
    expect(result.digest).toBe(alone.result.digest)
  })

  test('is what warmup_model_path starts from', async () => {
    const path = join(folder, 'warm')
    await trainTiny(folder, [`runner.model_save_path=${path}`, 'runner.epochs=2'])
    const overrides = ['runner.sync_mode=sync', 'runner.model_save_path=']
    const warm = [...overrides, `runner.warmup_model_path=${join(path, '1')}`]
    const { result, job } = await run({ workers: 1, servers: 2, overrides: warm, options: { digest: true } })
    const alone = await trainTiny(folder, ['runner.model_save_path=', `runner.model_init_path=${join(path, '1')}`])
    expect(eventsOf(job, 'worker 0', 'loaded')).toHaveLength(1)
    expect(result.digest).toBe(alone.result.digest)
  })
})

test('dygraph models train on servers too, as in one process', async () => {
  const overrides = ['runner.sync_mode=sync', 'runner.model_save_path=']
  const options = { digest: true, mode: 'dygraph' }
  const { result } = await run({ workers: 1, servers: 2, overrides, options })
  const alone = await trainTiny(folder, ['runner.model_save_path='], { mode: 'dygraph' })
  expect(result.digest).toBe(alone.result.digest)
})

describe('a job that is stopped inside an epoch', () => {
  test('saves its weights and where its workers were; another number of them trains the rest of the epoch', async () => {
    const path = join(folder, 'stopped')
    const long = [
      `runner.model_save_path=${path}`,
      'runner.print_interval=1',
      'runner.epochs=100000',
      'runner.keep_checkpoints=2',
    ]
    const job = await start({ workers: 2, servers: 1, overrides: long }, TRAIN_ONLY)
    let before = 0
    try {
      await training(job)
      job.named('worker 1').child.kill('SIGTERM')
      await job.success()
      for (const worker of ['worker 0', 'worker 1']) {
        expect(eventsOf(job, worker, 'interrupted')).toMatchObject([{ path: expect.stringContaining('interrupted') }])
        expect(eventsOf(job, worker, 'result')).toMatchObject([{ interrupted: true }])
      }
      before = Number(eventsOf(job, 'worker 0', 'interrupted')[0]!['samples'])
    } finally {
      job.kill()
    }
    const { position, workers } = JSON.parse(await readFile(join(path, 'interrupted', 'manifest.json'), 'utf8'))
    expect(workers).toHaveLength(2)
    const more = [`runner.model_save_path=${path}`, `runner.epochs=${position.epoch + 1}`]
    const { result } = await run({ workers: 1, servers: 2, overrides: more, options: { resume: true } })
    expect(before + result.samples).toBe(960)
  })

  test('says what is lost where nothing is saved', async () => {
    const overrides = ['runner.model_save_path=', 'runner.print_interval=1', 'runner.epochs=100000']
    const job = await start({ workers: 1, servers: 1, overrides }, TRAIN_ONLY)
    try {
      await training(job)
      job.named('worker 0').child.kill('SIGTERM')
      await job.success()
      const said = eventsOf(job, 'worker 0', 'notice').map(({ message }) => String(message))
      expect(said.at(-1)).toMatch(
        /^What was learned in epoch \d+ is not saved, since runner.model_save_path is empty\.$/,
      )
    } finally {
      job.kill()
    }
  })
})

const canMount =
  spawnSync('sh', ['-c', 'd=$(mktemp -d) && mount -t tmpfs tmpfs $d && umount $d && rmdir $d']).status === 0
test.skipIf(!canMount)('a full disk ends the job on all processes, with how much it needed', async () => {
  const path = join(folder, 'full')
  await mkdir(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12k', 'tmpfs', path])
  const job = await start({ workers: 2, servers: 1, overrides: [`runner.model_save_path=${path}`] })
  try {
    expect(await job.named('worker 0').ended).toBe(1)
    expect(await job.named('worker 1').ended).toBe(1)
    expect(await job.named('server 0').ended).toBe(1)
    for (const name of ['worker 0', 'worker 1', 'server 0'])
      expect(eventsOf(job, name, 'failed')).toMatchObject([{ code: 'SNAPSHOT_DISK_FULL' }])
  } finally {
    job.kill()
    execFileSync('umount', ['-l', path])
  }
})
