/** @file Today's trainers over ssh: `fleetrun --hosts`, typed once. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { expectWithin } from '../within.testing.ts'
import { clusterTools, openCluster, type TestCluster } from './ssh-cluster.testing.ts'

const RUN = ['run', '-m', 'config.yaml', '-b', 'backend.yaml'] as const

const RUN_CONFIG = `
workspace: "./"
mode: [one]
dataset:
- name: train
  batch_size: 4
  type: DataLoader
  data_path: "{workspace}/train_data"
  sparse_slots: "click ${Array.from({ length: 26 }, (_, i) => i + 1).join(' ')}"
  dense_slots: "dense_var:13"
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.001}
  sparse_feature_number: 1000001
  sparse_feature_dim: 9
  fc_sizes: [16]
runner:
- {name: one, class: cluster_train, epochs: 1, device: cpu, fleet_mode: MODE, save_checkpoint_path: increment_dnn, phases: [phase1]}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: train, thread_num: 1}
`

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined)('ssh-cluster: fleetrun --hosts on two hosts', () => {
  let cluster: TestCluster
  let hosts: string
  beforeAll(async () => {
    cluster = await openCluster('sshf', 2)
    for (const { name } of cluster.hosts) cluster.program(name, 'oarfish', `exec ${at('bin/path/oarfish')} "$@"`)
    hosts = cluster.hosts.map(({ address }) => `root@${address}`).join(',')
    cpSync(at('models/rank/dnn'), cluster.folder, {
      recursive: true,
      filter: (path) => !/criteo_like|_all|\.test\.ts$/.test(path),
    })
  })
  afterAll(() => cluster?.close())

  const fleetrun = (...words: readonly string[]) => cluster.oarfish(['launch', `--hosts=${hosts}`, ...words]).ended
  const TRAIN = ['-m', 'config.yaml', '-o', 'runner.epochs=1', 'runner.print_interval=1']

  test('servers and workers on both, in a folder that was dispatched', async () => {
    const work = join(cluster.folder, 'dispatched')
    mkdirSync(work)
    for (const name of ['config.yaml', 'model.ts', 'data'])
      cpSync(join(cluster.folder, name), join(work, name), { recursive: true })
    const run = ['--dispatch=dispatched', '--server_num=1', '--worker_num=1', 'tools/static_ps_trainer.py', ...TRAIN]
    const { code, out } = await fleetrun(...run)
    expect(code, out).toBe(0)
    expect(out).toMatch(/root@10\.77\.1\.2: server 1 runs .* on 10\.77\.1\.2:\d+/)
    const [, folder] = /, (\S+) on each/.exec(out)!
    expect(folder).toMatch(/home\/oarfish\/JOB\d{14}$/)
    // Sums of all workers: the same on every host.
    const [first, second] = [0, 1].map(
      (i) => /epoch: 0 done, .*(auc: 0\.\d+)/.exec(cluster.on(i, `cat ${folder}/log/workerlog.${i}`))?.[1],
    )
    expect(first).toMatch(/^auc/)
    expect(second).toBe(first)
  })

  test('a worker that is killed: all processes start again from the last cut, and the job ends well', async () => {
    const words = ['runner.epochs=6', 'runner.snapshot_interval=4', 'runner.model_save_path=recovered']
    const run = cluster.oarfish([
      ...['launch', `--hosts=${hosts}`, '--server_num=1', '--worker_num=1', 'tools/static_ps_trainer.py', ...TRAIN],
      ...words,
    ])
    const saved = () => existsSync(join(cluster.folder, 'recovered')) && readdirSync(join(cluster.folder, 'recovered'))
    await vi.waitUntil(() => saved() && (saved() as string[]).some((name) => /^(cut-|\d)/.test(name)), 120_000)
    const [, pid] = await run.printed(/worker 1 runs \(pid (\d+)\)/)
    cluster.on(1, `kill -9 ${pid}`)
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(/Starting again from the last cut/)
    expect(out).toMatch(/goes on from what it has saved/)
  })

  test('a host that is away and comes back: the job waits for it and goes on; one that does not ends it, which says so', async () => {
    const words = ['runner.epochs=6', 'runner.snapshot_interval=4', 'runner.model_save_path=away']
    const ssh = `ssh -F ${cluster.ssh.config} -o ServerAliveInterval=1 -o ServerAliveCountMax=2`
    const start = (...flags: readonly string[]) =>
      cluster.oarfish(
        ['launch', `--hosts=${hosts}`, ...flags, '--server_num=1', '--worker_num=1', 'tools/static_ps_trainer.py']
          .concat(TRAIN)
          .concat(words),
        { OARFISH_SSH: ssh },
      )
    const isSaved = () =>
      existsSync(join(cluster.folder, 'away')) &&
      readdirSync(join(cluster.folder, 'away')).some((name) => /^(cut-\d+-\d+|\d+)$/.test(name))
    const run = start()
    await vi.waitUntil(isSaved, 120_000)
    cluster.hosts[1]!.unplug()
    await run.printed(/root@10\.77\.1\.2: waiting up to \d+ s for it to come back/)
    cluster.hosts[1]!.replug()
    await run.printed(/root@10\.77\.1\.2 is back/)
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(/Starting again from the last cut: 1 of 3 times since it/)
    expect(out).toMatch(/goes on from what it has saved/)

    rmSync(join(cluster.folder, 'away'), { recursive: true })
    const gone = start('--host_timeout=2')
    await vi.waitUntil(isSaved, 120_000)
    cluster.hosts[1]!.unplug()
    const end = await gone.ended
    cluster.hosts[1]!.replug()
    expect(end.code, end.out).not.toBe(0)
    expect(end.out).toMatch(/root@10\.77\.1\.2 did not come back within 2 s, and the job ends\./)
    expect(end.out).toMatch(/the same command with --resume goes on/)
    const [, job] = /oarfish stop (JOB\d+)/.exec(end.out)!
    const stopped = await cluster.oarfish(['stop', job!]).ended
    expect(stopped.code, stopped.out).toBe(0)
    const resumed = await cluster.oarfish(
      ['launch', `--hosts=${hosts}`, '--server_num=1', '--worker_num=1', 'tools/static_ps_trainer.py', '--resume']
        .concat(TRAIN)
        .concat(words),
    ).ended
    expect([resumed.code, resumed.out]).toEqual([0, expect.stringMatching(/resum/i)])
  })

  test('ranks of a collective job on both, in a folder that both have', async () => {
    const { code, out } = await fleetrun(
      '--nproc_per_node=1',
      'tools/static_trainer.py',
      ...TRAIN,
      'runner.use_fleet=True',
      'runner.collective=ring',
    )
    expect(code, out).toBe(0)
    expect(out).toMatch(/root@10\.77\.1\.2: worker 1 runs/)
    const logs = [0, 1].map((i) => readFileSync(join(cluster.folder, `log/workerlog.${i}`), 'utf8'))
    expect(logs[0]).toMatch(/epoch: 0 done/)
    expect(logs[1]).toContain('rank 1')
  })

  test.each([
    ['ps', /^(?=[\s\S]*pserver\.1)[\s\S]*trainer\.1/],
    ['collective', /trainer\.1/],
  ])('backend: SSH runs a %s job of 1.x on the hosts of its hostfile', async (mode, logs) => {
    const { work, data } = writeJob(mode, RUN_CONFIG.replace('MODE', mode))
    const { code, out } = await cluster.oarfish([...RUN], {}, work).ended
    expect([code, out]).toEqual([0, expect.stringContaining('succeeded')])
    const written = readdirSync(join(data, 'out'), { recursive: true, encoding: 'utf8' }).join('\n')
    expect(written).toMatch(logs)
    expect(written).toMatch(/increment_dnn/)
  })

  test.each([
    ['is connecting', /Congratulations/, 0],
    ['prepares its nodes', /Congratulations/, 900],
    ['trains', /PSRunner/, 500],
  ])('Ctrl+C ends a job of backend: SSH that %s, and nothing of it is left', async (when, mark, later) => {
    const { work } = writeJob(
      when.replaceAll(' ', '-'),
      RUN_CONFIG.replace('MODE', 'ps').replace('epochs: 1,', 'epochs: 1000,'),
    )
    const before = cluster.running()
    const run = cluster.oarfish([...RUN], {}, work)
    const logs = await run.printed(/its logs are in (\S+)\n/)
    await run.printed(mark)
    // From its claim on, the supervisor hears of signals.
    await vi.waitUntil(() => existsSync(join(logs[1]!, '../started')), { timeout: 60_000 })
    await setTimeout(later)
    run.child.kill('SIGINT')
    const stopping = performance.now()
    const { code, out } = await run.ended
    expect([code, out]).toEqual([130, expect.stringContaining('Stopping the job')])
    expect(out).toMatch(/job-\w+ stopped/)
    await expectWithin(performance.now() - stopping, 20_000)
    await vi.waitFor(() => expect([cluster.launching(), cluster.running()]).toEqual([0, before]), { timeout: 60_000 })
  })

  /** A folder to submit from, and the data that it reads and writes. */
  function writeJob(name: string, config: string): { readonly work: string; readonly data: string } {
    const [work, data] = [join(cluster.folder, `job-${name}`), join(cluster.folder, `data-${name}`)]
    cpSync(at('models/rank/dnn'), work, { recursive: true, filter: (path) => /(dnn|net\.ts|model\.ts)$/.test(path) })
    mkdirSync(join(data, 'train'), { recursive: true })
    for (const part of ['part-000', 'part-001']) {
      const text = readFileSync(at(`models/rank/dnn/data/sample_data/train/${part}`), 'utf8')
      writeFileSync(join(data, 'train', part), `${text.split('\n').slice(0, 60).join('\n')}\n`)
    }
    writeFileSync(join(work, 'hosts'), `# two of them\n${hosts.replace(',', ' slots=1\n')}\n`)
    writeFileSync(join(work, 'config.yaml'), config)
    const backend = {
      backend: 'SSH',
      submit: { files: './*.ts', nodes: 2, hostfile: 'hosts' },
      config: { fs_name: `file://${data}`, train_data_path: '/train', output_path: '/out' },
    }
    writeFileSync(join(work, 'backend.yaml'), JSON.stringify(backend))
    return { work, data }
  }

  test.each([
    ['--workers=a:1', '--workers and --hosts cannot stand together.'],
    ['--hosts=a,-x', '--hosts: "-x" is not user@host:port.'],
    ['--hosts=a,root@A', '--hosts: root@A is there twice'],
    ['--worker_num=2', '--hosts needs --server_num and --worker_num, of each host.'],
    ['--dispatch=missing', 'there is no folder'],
  ])('%s is refused', async (word, message) => {
    const { code, out } = await fleetrun(word, 'config.yaml')
    expect([code, out]).toEqual([2, expect.stringContaining(message)])
  })
})
