/** @file Saved models evaluated by processes of a job: static_ps_infer and static_ps_offline_infer under the launcher. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Event } from '../../src/base/event/index.ts'
import { eventsOf, noneAlive, ofKind, run } from '../cluster/launch.testing.ts'
import { inferTiny, tinyFolder, trainTiny } from '../train/tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  await trainTiny(folder, ['runner.epochs=3'])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a tool in two workers and two servers; the events of worker 0. */
async function launch(tool: string, overrides: readonly string[], expected = 0): Promise<readonly Event[]> {
  const flags = ['--worker_num=2', '--server_num=2', '--log_dir=log']
  const args = [...flags, `tools/${tool}.py`, '-m', 'config.yaml', '--json', '-o', ...overrides]
  const { code, out, err, mark } = await run('fleetrun', args, { cwd: folder })
  expect(code, out + err).toBe(expected)
  expect(await noneAlive(mark)).toEqual([])
  const text = await readFile(join(folder, 'log/workerlog.0'), 'utf8')
  return eventsOf({ out: text.replaceAll(/^[^{].*\n/gm, '') })
}

const measured = (events: readonly Event[]) =>
  ofKind(events, 'epoch').map(({ epoch, samples, metrics }) => ({ epoch, samples, metrics }))

test('static_ps_infer measures each saved epoch as one process does, over the parts of all workers', async () => {
  const range = ['runner.infer_start_epoch=1', 'runner.infer_end_epoch=9']
  const alone = measured((await inferTiny(folder, range)).events)
  const events = await launch('static_ps_infer', range)
  const together = measured(events)
  expect(together.map(({ epoch, samples }) => [epoch, samples])).toEqual([
    [1, 320],
    [2, 320],
  ])
  for (const [i, { metrics }] of together.entries()) {
    expect(metrics['auc']).toBeCloseTo(alone[i]!.metrics['auc']!, 6)
    expect(metrics['loss']).toBeCloseTo(alone[i]!.metrics['loss']!, 5)
  }
  expect(ofKind(events, 'loaded').map(({ path }) => path)).toEqual(['model_output/1', 'model_output/2'])
  const notices = ofKind(events, 'notice').map(({ message }) => message)
  expect(notices).toContain('Total example: 320')
  expect(notices).toContain('runner.infer_start_epoch 1 to infer_end_epoch 9: model_output holds 1, 2 of these.')
})

test('rows of the model before do not stay where the next one has none', async () => {
  const head = (await readFile(join(folder, 'data/train/part-0'), 'utf8')).split('\n').slice(0, 8)
  await mkdir(join(folder, 'data/few'), { recursive: true })
  await writeFile(join(folder, 'data/few/part-0'), `${head.join('\n')}\n`)
  await trainTiny(folder, ['runner.train_data_dir=data/few', 'runner.train_batch_size=4', 'runner.model_save_path=few'])
  await cp(join(folder, 'model_output/2'), join(folder, 'mixed/0'), { recursive: true })
  await cp(join(folder, 'few/0'), join(folder, 'mixed/1'), { recursive: true })
  const path = 'runner.infer_load_path=mixed'
  const [alone] = measured((await inferTiny(folder, [path, 'runner.infer_start_epoch=1'])).events)
  const [, second] = measured(await launch('static_ps_infer', [path]))
  expect(second!.metrics['loss']).toBeCloseTo(alone!.metrics['loss']!, 5)
})

test("a folder of Paddle's table files is evaluated as a checkpoint is, on servers and alone", async () => {
  const from = ['--from', 'model_output/2', '--to', 'paddle/0', '--as', 'paddle']
  const converted = await run('oarfish', ['convert', '-m', 'config.yaml', ...from], { cwd: folder })
  expect(converted.code, converted.err).toBe(0)
  const [checkpoint] = measured((await inferTiny(folder, ['runner.infer_start_epoch=2'])).events)
  const path = 'runner.infer_load_path=paddle'
  const [alone] = measured((await inferTiny(folder, [path])).events)
  const [together] = measured(await launch('static_ps_infer', [path]))
  // Text has nine digits.
  for (const { metrics } of [alone!, together!]) {
    expect(metrics['loss']).toBeCloseTo(checkpoint!.metrics['loss']!, 4)
    expect(metrics['auc']).toBeCloseTo(checkpoint!.metrics['auc']!, 4)
  }
})

test('static_ps_offline_infer measures one saved model over data of its own', async () => {
  const keys = ['runner.init_model_path=model_output/2', 'runner.data_dir=data/train', 'runner.batch_size=32']
  const together = measured(await launch('static_ps_offline_infer', keys))
  expect(together).toHaveLength(1)
  expect(together[0]).toMatchObject({ epoch: 2, samples: 960 })
  const same = ['runner.test_data_dir=data/train', 'runner.infer_start_epoch=2', 'runner.infer_batch_size=32']
  const [alone] = measured((await inferTiny(folder, same)).events)
  expect(together[0]!.metrics['auc']).toBeCloseTo(alone!.metrics['auc']!, 6)
})

test('a model that worker 0 cannot load ends the whole job, and says why', async () => {
  const events = await launch('static_ps_infer', ['runner.infer_load_path=nowhere'], 2)
  expect(ofKind(events, 'error')).toMatchObject([{ code: 'SNAPSHOT_MISSING' }])
})

test('without a launcher both tools evaluate alone', async () => {
  const alone = await run('oarfish', ['tool', 'static_ps_infer', '-m', 'config.yaml', '--json'], { cwd: folder })
  expect(measured(eventsOf(alone)).map(({ epoch }) => epoch)).toEqual([0, 1, 2])
  const missing = await run('oarfish', ['tool', 'static_ps_offline_infer', '-m', 'config.yaml'], { cwd: folder })
  expect(missing.code).toBe(2)
  expect(missing.err + missing.out).toContain('runner.init_model_path')
})
