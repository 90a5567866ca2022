/** @file The CTR program of examples/ctr under its launcher: two workers and two servers as processes, and what they save. */
import { cp, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openExport } from '../../src/inference/export/index.ts'
import { noneAlive, run } from '../cluster/launch.testing.ts'
import { exec } from '../fluid/process.testing.ts'

vi.setConfig({ testTimeout: 150_000, hookTimeout: 60_000 })

const EXAMPLE = fileURLToPath(new URL('../../examples/ctr', import.meta.url))

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-ctr-'))
  await cp(EXAMPLE, cwd, { recursive: true })
  const data = ['data', 'criteo-like', '--format', 'criteo-tsv', '--rows', '300', '--parts', '5', '--out', 'data']
  const { code, err } = await oarfish(data)
  expect(code, err).toBe(0)
  await rename(join(cwd, 'data/train'), join(cwd, 'raw_data'))
})
afterAll(() => rm(cwd, { recursive: true, force: true }))

const oarfish = (args: readonly string[]) => run('oarfish', args, { cwd, timeoutMs: 120_000 })

const SMALL = ['--sparse_feature_dim', '1001', '--batch_size', '20']

test('dist_train.ts trains on two workers and two servers, saves, and leaves no process', async () => {
  const launcher = ['launch_ps', '--worker_num', '2', '--server_num', '2', '--start_port', '26210']
  const { code, out, err, mark } = await oarfish([...launcher, 'dist_train.ts', ...SMALL, '--epochs', '2'])
  const logs = Object.fromEntries(
    await Promise.all(
      (await readdir(join(cwd, 'logs'))).map(async (name) => [name, await readFile(join(cwd, 'logs', name), 'utf8')]),
    ),
  )
  expect(code, out + err + JSON.stringify(logs)).toBe(0)
  expect(await noneAlive(mark)).toEqual([])
  expect(logs['workerlog.0']).toMatch(/batch: \[0\], auc\[1\]:\[0\.\d+\]/)
  expect(logs['workerlog.0']).toContain('epoch2 finished')
  expect(logs['workerlog.1']).not.toContain('finished')
  expect(logs['serverlog.1']).toContain('for 2 workers (half_async)')
  const exports = await Promise.all(['epoch1', 'epoch2'].map((epoch) => openExport(join(cwd, `models/${epoch}.model`))))
  const [first, second] = exports.map(({ manifest }) => manifest)
  // 240 samples in batches of 20 by each worker and epoch; threads of a worker make steps together.
  expect(second!.steps).toBeGreaterThan(first!.steps)
  expect(second!.tables[0]).toMatchObject({ name: 'SparseFeatFactors', dim: 10 })
})

test('one worker over two servers saves bit for bit what train_local.ts saves', async () => {
  const alone = [...SMALL, '--epochs', '1', '--thread_num', '1', '--model_output_dir']
  const local = await oarfish(['exec', 'train_local.ts', ...alone, 'local'])
  expect(local.code, local.err).toBe(0)
  const launcher = ['launch_ps', '--worker_num', '1', '--server_num', '2', '--start_port', '26210']
  const launched = await oarfish([...launcher, 'train_fleet.ts', ...alone, 'fleet'])
  expect(launched.code, launched.out + launched.err).toBe(0)
  const [one, other] = await Promise.all(
    ['local', 'fleet'].map(async (folder) => (await openExport(join(cwd, folder, 'epoch1.model'))).manifest),
  )
  expect(one!.steps).toBe(12)
  expect(Object.keys(one!.files).length).toBeGreaterThan(2)
  expect(other!.files).toEqual(one!.files)
})

test('train.ts finds its place in the environment of pods: every server on the same port, the files dealt out', async () => {
  const job = { PADDLE_PSERVERS: '127.0.0.2:26230,127.0.0.3:26230', PADDLE_PORT: '26230', PADDLE_TRAINERS_NUM: '2' }
  const args = ['--is_local', '0', '--cloud_train', '1', ...SMALL, '--epochs', '2', '--model_output_dir', 'cloud']
  const pod = (role: string, i: number) =>
    exec('train.ts', args, cwd, { ...job, TRAINING_ROLE: role, POD_IP: `127.0.0.${i + 2}`, PADDLE_TRAINER_ID: `${i}` })
  const pods = ['PSERVER', 'TRAINER'].flatMap((role) => [0, 1].map((i) => pod(role, i)))
  try {
    const codes = await Promise.all(pods.map(({ ended }) => ended))
    expect(codes, pods.map(({ out, err }) => out + err).join('\n')).toEqual([0, 0, 0, 0])
  } finally {
    for (const { child } of pods) child.kill('SIGKILL')
  }
  const [first, second] = pods.slice(2)
  expect(first!.out).toContain('3 of 5 files of raw_data')
  expect(second!.out).toContain('2 of 5 files of raw_data')
  const losses = [...first!.out.matchAll(/^TRAIN --> pass: \d loss: (\S+)/gm)].map(([, loss]) => Number(loss))
  expect(losses).toHaveLength(2)
  expect(losses[1]!).toBeLessThan(losses[0]!)
  expect(await readdir(join(cwd, 'cloud'))).toEqual(['pass-0', 'pass-1'])
  expect(second!.out).not.toContain('saved')
})

test('a server whose address is not in the list says so', async () => {
  const env = {
    PADDLE_PSERVERS: '127.0.0.2:26230',
    PADDLE_PORT: '26231',
    PADDLE_TRAINERS_NUM: '1',
    POD_IP: '127.0.0.2',
  }
  const args = ['--is_local', '0', '--cloud_train', '1']
  const server = exec('train.ts', args, cwd, { ...env, TRAINING_ROLE: 'PSERVER' })
  expect(await server.ended).toBe(1)
  expect(server.err).toContain('This server is 127.0.0.2:26231, which is not one of 127.0.0.2:26230.')
})
