/** @file `oarfish run` with runners of class local_cluster_train: servers and workers as real processes on this host. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { eventsOf, noneAlive, ofKind, run } from './launch.testing.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-local-cluster-'))
afterAll(() => rmSync(root, { recursive: true }))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(root, 'job-'))
})

const MODEL = `
import { metric } from 'oarfish'
import { mean, concat, sigmoid } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export class Model {
  net({ label, sparse, dense }, isInfer) {
    const x = concat([nn.embedding(Object.values(sparse), { name: 'table', dim: 2 }), ...Object.values(dense)], 1)
    const logit = nn.linear(x, { name: 'fc', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), metrics: { AUC: metric.auc(sigmoid(logit), label) } }
  }
}
`
const CONFIG = `workspace: "./"
mode: [cluster, infer]
runner:
- name: cluster
  class: local_cluster_train
  worker_num: 2
  server_num: 2
  epochs: 4
  save_checkpoint_interval: 2
  save_checkpoint_path: saved
  print_interval: 2
- name: infer
  class: infer
  init_model_path: saved
dataset:
- name: data
  batch_size: 8
  data_path: "{workspace}/data"
  sparse_slots: "click user item"
  dense_slots: "x:[1,2]"
phase:
- name: phase1
  model: "{workspace}/model.py"
  dataset_name: data
hyper_parameters:
  optimizer: { class: Adam, learning_rate: 0.05 }
`
const line = (i: number) => `click:${i % 2} user:${(i % 2) + 2} item:${i % 7} x:0.${i % 10} x:1\n`

function job(config = CONFIG, files = 3): void {
  mkdirSync(join(folder, 'data'))
  const text = Array.from({ length: 40 }, (_, i) => line(i)).join('')
  for (let i = 0; i < files; i++) writeFileSync(join(folder, 'data', `part-${i}`), text)
  writeFileSync(join(folder, 'model.ts'), MODEL)
  writeFileSync(join(folder, 'config.yaml'), config)
}

const start = (...more: string[]) => run('oarfish', ['run', '-m', 'config.yaml', ...more], { cwd: folder })

test('fleet_mode: hybrid: dense weights are averaged among the workers, rows are on the servers', async () => {
  job(CONFIG.replace('  worker_num: 2\n', '  worker_num: 2\n  fleet_mode: hybrid\n'))
  const { code, mark } = await start()
  expect([code, await noneAlive(mark)]).toEqual([0, []])
  expect(readFileSync(join(folder, 'logs', 'worker.1'), 'utf8')).toContain('averaged among the workers by ring of 2')
})

test('two workers and two servers train every sample once an epoch, save epochs 1 and 3, and infer evaluates both', async () => {
  job()
  const { code, out, mark } = await start()
  expect([code, await noneAlive(mark)]).toEqual([0, []])
  expect(out).toContain(`launch GeneralTrainer engine with cluster to run model: ${join(folder, 'config.yaml')}\n`)
  expect(readdirSync(join(folder, 'logs')).sort()).toEqual(['server.0', 'server.1', 'worker.0', 'worker.1'])
  expect(readdirSync(join(folder, 'saved')).sort()).toEqual(['1', '3'])
  const log = (name: string) => readFileSync(join(folder, 'logs', name), 'utf8')
  expect(log('worker.1')).toContain('PaddleRec: Runner cluster Begin\n')
  expect(log('worker.1')).toContain('Running PSInstance.\nRunning PSNetwork.\nRunning PSStartup.\n')
  expect(out).toMatch(/^train\.trainer\.strategy {28}async +$/m)
  expect(log('worker.1')).toMatch(/^epoch 3 done, use time: [\d.]+, global metrics: loss=\[/m)
  // Only worker 0 saves, and only it is echoed.
  expect(log('worker.0')).toContain('save epoch_id:1 model into: "saved/1"')
  expect(log('worker.1')).not.toContain('save epoch_id')
  expect(out).toContain('all workers already completed, you can view logs under the `logs` directory\n')
  const evaluated = [...out.matchAll(/^Infer phase1 of epoch (\d) done, .*AUC=\[([\d.]+)\]/gm)]
  expect(evaluated.map(([, epoch]) => epoch)).toEqual(['1', '3'])
  expect(Number(evaluated[1]![2])).toBeGreaterThan(0.95) // clicks follow the user
})

test.each(['sync', 'half_async', 'geo'])('distribute_strategy: %s', async (strategy) => {
  const geo = strategy === 'geo' ? 'train: { strategy: { mode: { push_num: 2 } } }\n' : ''
  job(`${geo}${CONFIG.replace('  worker_num: 2', `  worker_num: 2\n  distribute_strategy: ${strategy}`)}`)
  const { code, out } = await start()
  expect(code).toBe(0)
  expect(readFileSync(join(folder, 'logs/server.0'), 'utf8')).toContain(`for 2 workers (${strategy})`)
  const [, auc] = /^Infer phase1 of epoch 3 done, .*AUC=\[([\d.]+)\]/m.exec(out)!
  expect(Number(auc)).toBeGreaterThan(0.8)
})

test('a job starts from init_model_path, and says what it starts from', async () => {
  job(CONFIG.replace('mode: [cluster, infer]', 'mode: cluster').replace('epochs: 4', 'epochs: 1'))
  expect((await start()).code).toBe(0)
  const again = readFileSync(join(folder, 'config.yaml'), 'utf8')
    .replace('worker_num: 2', 'worker_num: 1\n  init_model_path: saved/0')
    .replace('path: saved\n', 'path: more\n')
  writeFileSync(join(folder, 'config.yaml'), again)
  const { code, out } = await start()
  expect(code).toBe(0)
  expect(out).toContain('load from saved/0 success\n')
})

test('there are no more workers than parts of the data, and one phase', async () => {
  const phases = `${CONFIG.replace('phase:\n', 'phase:\n- name: other\n  model: "{workspace}/model.py"\n  dataset_name: data\n')}`
  job(phases.replace('mode: [cluster, infer]', 'mode: cluster'), 1)
  const { code, out } = await start('--json')
  expect(code).toBe(0)
  const events = eventsOf({ out })
  expect(ofKind(events, 'warning').map(({ message }) => message)).toEqual([
    'Cluster Train Only Support One Phase.',
    'phases do not have enough datas for training, set worker/gpu cards num from 2 to 1',
  ])
  expect(ofKind(events, 'process').filter(({ state }) => state === 'running')).toHaveLength(3)
})

test('a worker that fails ends the job with its exit code, its last lines and nobody left; later modes do not run', async () => {
  job()
  writeFileSync(join(folder, 'data/part-9'), `${line(0)}click:1 user:x item:1 x:0 x:1\n`)
  const { code, out, err, mark } = await start()
  expect([code, await noneAlive(mark)]).toEqual([2, []])
  expect(err).toMatch(/worker \d \(pid \d+\) failed first: exit code 2\./)
  expect(err).toContain('part-9:2:14')
  expect(out).not.toContain('PaddleRec: Runner infer Begin')
})

test('cluster_train without a backend.yaml says that it needs one; nodes of its job train, those with nothing to read say so', async () => {
  job(CONFIG.replace('local_cluster_train', 'cluster_train').replace('mode: [cluster, infer]', 'mode: cluster'), 1)
  const refused = await start()
  expect(refused.code).toBe(2)
  expect(refused.err).toContain("cluster_train submits the job and needs the cluster's backend.yaml")
  const bin = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
  writeFileSync(join(folder, 'node.sh'), `exec "${process.execPath}" "${bin}" run -m config.yaml\n`)
  const flags = ['--log_dir', join(folder, 'log'), '--worker_num', '2', '--server_num', '1']
  const env = { PADDLE_PADDLEREC_ROLE: 'WORKER' }
  const { code } = await run('oarfish', ['launch_ps', ...flags, 'sh', 'node.sh'], { cwd: folder, env })
  expect(code).toBe(0)
  expect(readdirSync(join(folder, 'saved')).sort()).toEqual(['1', '3'])
  const said = readFileSync(join(folder, 'log/workerlog.1'), 'utf8').match(
    /worker\[1\] has nothing to read: the data has/g,
  )
  expect(said, 'once, not every epoch').toHaveLength(1)
})
