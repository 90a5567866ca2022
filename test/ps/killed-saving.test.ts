/** @file A process that is killed while a checkpoint is being written: the one before stays, everyone ends and says who. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inferTiny, tinyFolder } from '../train/tiny.testing.ts'
import { type Job, startJob } from './job.testing.ts'
import { othersEnd } from './others-end.testing.ts'

vi.setConfig({ testTimeout: 600_000 })

const SAMPLES = 24_000
/** Ten thousands of rows of half a kilobyte: they take long enough to write. */
const MODEL = ['hyper_parameters.dim=64', 'runner.train_batch_size=500']

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  await mkdir(join(folder, 'data', 'wide'))
  for (const part of [0, 1]) await writeFile(join(folder, 'data', 'wide', `part-${part}`), wideLines(part))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Every sample has a user and three items of its own. */
function wideLines(part: number): string {
  const first = (part * SAMPLES) / 2
  const lines = Array.from({ length: SAMPLES / 2 }, (_, i) => {
    const own = 1000 + 4 * (first + i)
    return `click:${i % 2} user:${own} tags:100 history:${own + 1} history:${own + 2} history:${own + 3} x:0.1 x:0.2`
  })
  return `${lines.join('\n')}\n`
}

/** The folder that the second epoch is being written to, once rows are in it. */
function halfWritten(saves: string): string | undefined {
  const aside = existsSync(saves) ? readdirSync(saves).find((name) => name.startsWith('1.tmp-')) : undefined
  const files = aside ? readdirSync(join(saves, aside)) : []
  return files.some((file) => statSync(join(saves, aside!, file)).size > 500_000) ? aside : undefined
}

async function untilSaving(job: Job, saves: string): Promise<void> {
  for (const until = Date.now() + 200_000; !halfWritten(saves); ) {
    if (existsSync(join(saves, '1'))) throw new Error('the second epoch was saved before anybody was killed')
    const failed = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'failed'))
    if (failed.length > 0 || Date.now() > until) throw new Error(`nothing is being saved: ${JSON.stringify(failed)}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

test.each([
  ['server 1', /server\[1\] 127\.0\.0\.1:\d+ is gone/],
  ['worker 0', /worker\[0\] \(this host\) is gone/],
  ['worker 1', /worker\[1\] \(this host\) is gone/],
] as const)(
  '%s killed inside a save: all end within 5 s, name it, and the epoch before loads',
  async (name, message) => {
    const saves = join(folder, `saved-${name.replace(' ', '-')}`)
    const path = join(folder, 'config.yaml')
    const overrides = [...MODEL, 'runner.train_data_dir=data/wide', `runner.model_save_path=${saves}`]
    const job = await startJob({ path, workers: 2, servers: 2, overrides: [...overrides, 'runner.epochs=2'] })
    try {
      await untilSaving(job, saves)
      const killed = Date.now()
      job.named(name).child.kill('SIGKILL')
      await othersEnd(job, name, killed, message)
    } finally {
      job.kill()
    }
    expect(existsSync(join(saves, '1'))).toBe(false)

    const wanted = [`runner.infer_load_path=${saves}`, 'runner.infer_start_epoch=0', 'runner.infer_end_epoch=1']
    const { result } = await inferTiny(folder, [...MODEL, ...wanted])
    expect(result.epochs).toHaveLength(1)

    // A job that goes on from it finishes the epoch; nothing of the attempt is left.
    const more = await startJob({
      ...{ path, workers: 2, servers: 2 },
      overrides: [...overrides, 'runner.epochs=2', 'runner.last_epoch=0'],
    })
    await more.success()
    expect((await readdir(saves)).sort()).toEqual(['0', '1'])
  },
)
