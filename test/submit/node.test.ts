/** @file Two nodes of a submitted job on this machine: a parameter-server job from its files to its collected output. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { loadRunConfig, parseBackend } from '../../src/base/config/index.ts'
import { rendezvous, runNode } from '../../src/jobs/agent/index.ts'
import { type Job, prepare } from '../../src/jobs/submit/index.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const CONFIG = `workspace: "./"
mode: [ps_cluster]
runner:
- {name: ps_cluster, class: cluster_train, epochs: 2, device: cpu, fleet_mode: ps, save_checkpoint_interval: 1, save_checkpoint_path: "increment_dnn", print_interval: 10, phases: [phase1]}
dataset:
- {name: d, batch_size: 32, type: DataLoader, data_path: "{workspace}/train_data", sparse_slots: "click 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26", dense_slots: "dense_var:13"}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'node-'))
  mkdirSync(join(folder, 'work'))
  cpSync(at('models/rank/dnn'), join(folder, 'work'), { recursive: true, filter: (path) => !path.includes('/data') })
  cpSync(at('models/rank/dnn/data/sample_data/train'), join(folder, 'remote/train'), { recursive: true })
  writeFileSync(join(folder, 'work/config.yaml'), CONFIG)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('servers and trainers on two nodes train, and what they wrote is collected', async () => {
  const { codes, messages } = await runJob(jobFrom(''))
  expect(codes, messages.join('\n')).toEqual([0, 0])
  const output = join(folder, 'remote/out')
  expect(readdirSync(join(output, 'increment_dnn')).sort()).toEqual(['0', '1'])
  expect(readdirSync(join(output, 'log')).sort()).toEqual(
    ['before_hook.0.log', 'before_hook.1.log', 'end_hook.0.log', 'end_hook.1.log'].concat([
      'pserver.0.log',
      'pserver.1.log',
      'trainer.0.log',
      'trainer.1.log',
    ]),
  )
  expect(readFileSync(join(output, 'log/before_hook.0.log'), 'utf8')).toContain('End before_hook.sh ...')
})

test('a process that fails ends every node with a code that is not 0, and its log is collected', {
  timeout: 60_000,
}, async () => {
  const { codes } = await runJob(jobFrom('python -m paddlerec.run -m ./missing.yaml'))
  expect(codes.every((code) => code !== 0)).toBe(true)
  // Whoever fails first stops the others, which then may have said nothing yet.
  const logs = join(folder, 'remote/out/log')
  const texts = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'))
  expect(texts.join()).toContain('missing.yaml')
})

test('nodes that are asked to stop still send their logs, with what processes said last', {
  timeout: 60_000,
}, async () => {
  const command = `trap 'echo saved at the end; exit 0' TERM; echo begun; while :; do sleep 0.1; done`
  const stop = new AbortController()
  const running = runJob({ ...jobFrom(''), command }, stop)
  const begun = (i: number) => readFileSync(join(folder, `logs-${i}/trainer.${i}.log`), 'utf8')
  await vi.waitFor(() => expect([begun(0), begun(1)]).toEqual(['begun\n', 'begun\n']), 30_000)
  stop.abort()
  expect((await running).codes).toEqual([undefined, undefined])
  for (const i of [0, 1])
    expect(readFileSync(join(folder, `remote/out/log/trainer.${i}.log`), 'utf8')).toMatch(
      /^begun\n[\s\S]*saved at the end\n$/,
    )
})

test('use_python3 makes python python3', async () => {
  const job = jobFrom('')
  const { codes } = await runJob({ ...job, command: 'python --version', env: { ...job.env, use_python3: '1' } })
  expect(codes).toEqual([0, 0])
  expect(readFileSync(join(folder, 'remote/out/log/trainer.0.log'), 'utf8')).toMatch(/^Python 3/)
})

test('a hook that fails keeps the job from starting', async () => {
  writeFileSync(join(folder, 'work/before_hook.sh'), 'echo no disk; exit 7\n')
  const { codes } = await runJob(jobFrom('', './*.py ./before_hook.sh'))
  expect(codes).toEqual([7, 7])
  expect(existsSync(join(folder, 'remote/out/log/trainer.0.log'))).toBe(false)
})

function jobFrom(startCommand: string, files = './*.py ./*.yaml'): Job {
  const cwd = join(folder, 'work')
  const backend = parseBackend(
    'backend.yaml',
    `backend: PaddleCloud
cluster_type: mpi
config: {fs_name: "file://${folder}/remote", fs_ugi: "u,p", train_data_path: /train, output_path: /out}
submit: {ak: a, sk: s, nodes: 2, files: "${files}"${startCommand && `, start_cmd: "${startCommand}"`}}
`,
  )
  const config = loadRunConfig({ path: 'config.yaml', cwd })
  const version = JSON.parse(readFileSync(at('package.json'), 'utf8')).version
  const [one] = prepare({ config, backend, backendFile: 'backend.yaml', cwd, version, now: new Date() })
  const generated = one!.plan.files.filter(({ path }) => /(before|end)_hook\.sh$/.test(path))
  const own = new Set(one!.job.files.map(({ name }) => name))
  const hooks = generated.map(({ path, text }) => ({ name: path.replace(/.*\//, ''), content: { text } }))
  const here = one!.job.files.map(({ name, content }) => ({
    name,
    content: 'path' in content ? { path: join(cwd, name) } : content,
  }))
  return { ...one!.job, files: [...here, ...hooks.filter(({ name }) => !own.has(name))] }
}

async function runJob(job: Job, stop = new AbortController()) {
  const messages: string[] = []
  const meeting = exchangeOf(2)
  const env = { ...process.env, PATH: [at('bin/path'), process.env['PATH']].join(delimiter) }
  const nodes = [0, 1].map(async (node) => {
    const code = await runNode({
      ...{ job, node, nodes: 2, env, signal: stop.signal },
      folder: join(folder, `node-${node}`),
      logs: join(folder, `logs-${node}`),
      placement: () => rendezvous({ job, node, host: '127.0.0.1', exchange: meeting(node) }),
      emit: (event) => messages.push(JSON.stringify(event)),
    })
    if (code !== 0) stop.abort()
    return code
  })
  return { codes: await Promise.all(nodes), messages }
}

/** In one process nodes meet in memory. */
function exchangeOf(nodes: number) {
  const texts: string[] = []
  const { promise, resolve } = deferred<readonly string[]>()
  return (node: number) => (text: string) => {
    texts[node] = text
    if (Object.keys(texts).length === nodes) resolve(texts)
    return promise
  }
}

function deferred<T>() {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
