/** @file Two users and an administrator on one job server, by the commands of docs/guide/submit.md: who sees what, lists and filters, keys, time limits, what a job finds in its environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { cloudClient } from '../../src/jobs/server/index.ts'
import { at, firstOutput } from './mpi-cluster.testing.ts'

const TIMEOUT = { timeout: 240_000 }
const SECRETS = { AWS_SECRET_ACCESS_KEY: 'servers-own', KUBECONFIG: '/servers/kubeconfig', OARFISH_SSH: 'servers-ssh' }

type Name = 'ann' | 'bob' | 'root'
let root: string
let server: ChildProcess
let url: string
let work: string
let runs = 0
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'users-'))
  const dir = ['--dir', join(root, 'server')]
  await run('root', ['cloud', 'group', 'add', 'ctr', '--quota', '4', ...dir])
  for (const [name, ...more] of [['ann'], ['bob'], ['root', '--admin']] as [Name, ...string[]][]) {
    const { text } = await run(name, ['cloud', 'user', 'add', name, '--group', 'ctr', ...more, ...dir])
    const [ak, sk] = ['ak', 'sk'].map((key) => new RegExp(`${key}: (\\w+)`).exec(text)![1]!)
    mkdirSync(join(root, name, '.config/oarfish'), { recursive: true })
    writeFileSync(join(root, name, '.config/oarfish/credentials'), `[mine]\nak=${ak}\nsk=${sk}\n`, { mode: 0o600 })
  }
  const words = [at('bin/oarfish.js'), 'cloud', 'serve', '--port', '0', ...dir]
  server = spawn(process.execPath, words, { env: { ...envOf('root'), ...SECRETS } })
  url = /http:\/\/[\d.:]+/.exec(await firstOutput(server, 90_000))![0]
}, 240_000)
afterAll(async () => {
  server?.kill('SIGKILL')
  await vi.waitFor(() => rmSync(root, { recursive: true, force: true }), { timeout: 90_000, interval: 200 })
})
beforeEach(() => {
  work = join(root, `work-${runs++}`)
  mkdirSync(work)
  writeFileSync(join(work, 'config.ini'), 'COLOUR=blue\n')
})

test(
  'a job with --permission group is seen by the group and stopped by its user alone; filters find it',
  TIMEOUT,
  async () => {
    // One at a time: the server runs them itself.
    const closed = await train('ann', 'true', '--permission', 'private')
    await over('ann', closed, 'succeeded')
    const open = await train('ann', 'sleep 600', '--permission', 'group', '--job-remark', 'trial')
    const listed = async (name: Name, ...flags: string[]) => (await own(name, 'jobs', ...flags)).text
    expect(await listed('bob')).not.toContain(open)
    expect(await listed('bob', '--group', 'ctr')).toContain(open)
    expect(await listed('bob', '--user', 'ann')).not.toContain(closed)
    expect(await listed('root', '--all')).toContain(closed)
    const status = await own('bob', 'status', open)
    expect(status.text).toMatch(/user ann, permission group, .*remark trial/)
    expect((await own('bob', 'status', closed)).text).toContain(`There is no job ${closed}`)
    expect((await own('bob', 'stop', open)).text).toMatch(/is ann's, who alone may stop/)
    expect(await listed('ann', '--state', 'running,starting,queued')).not.toContain(closed)
    expect(await listed('ann', '--state', 'succeeded', '--since', '1h')).toContain(closed)
    expect(await listed('ann', '--since', '2100-01-01')).toBe('No jobs yet.\n')
    expect((await own('ann', 'jobs', '--since', 'later')).text).toMatch(/--since: "later" is no time/)
    expect((await own('ann', 'jobs', '--state', 'done')).code).toBe(2)
    const watching = start('root', ['jobs', '--all', '--watch', '--profile', 'mine', '--server', url])
    const watched = seen(watching)
    await vi.waitFor(() => expect(watched()).toContain(open), { timeout: 90_000, interval: 100 })
    expect((await own('root', 'stop', open)).text).toContain('is being stopped')
    await vi.waitFor(() => expect(watched()).toMatch(new RegExp(`${open} .*stopped`)), {
      timeout: 90_000,
      interval: 100,
    })
    watching.kill('SIGINT')
    expect(await new Promise((done) => watching.once('close', done))).toBe(0)
  },
)

test('no group is the one called default, wherever a group is named', TIMEOUT, async () => {
  const dir = ['--dir', join(root, 'server')]
  expect((await run('root', ['cloud', 'group', 'add', '', '--quota', '1', ...dir])).text).toMatch(
    /^group default: 1 nodes/,
  )
  const added = await run('root', ['cloud', 'user', 'add', 'nobody', '--group', '', ...dir])
  const [ak, sk] = ['ak', 'sk'].map((key) => new RegExp(`${key}: (\\w+)`).exec(added.text)![1]!)
  const client = cloudClient(url, { ak: ak!, sk: sk! })
  expect((await client.whoAmI()).groups).toMatchObject([{ name: 'default', quota: 1 }])
  const described = { name: 'plain', group: '', priority: 'high', kind: 'PS_CPU_MPI', command: 'true' }
  const rest = { roles: [{ name: 'trainer', replicas: 1, resources: {} }], env: {}, data: {} }
  const { jobId } = await client.submit({ request: { ...described, ...rest } as never, files: [] })
  for (const group of ['', 'default'])
    expect((await client.list(9, { group })).jobs.map((job) => [job.jobId, job.group])).toEqual([[jobId, 'default']])
})

test('--mpi-wall-time ends a job and says so; job.log has times', TIMEOUT, async () => {
  const id = await train('ann', 'sleep 600', '--mpi-wall-time', '0:00:03')
  await over('ann', id, 'failed')
  expect((await own('ann', 'status', id)).text).toMatch(/its wall time of 0:00:03 is over/)
  const log = readFileSync(join(root, 'server/jobs', id, 'logs/job.log'), 'utf8')
    .trimEnd()
    .split('\n')
  for (const line of log) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /)
  expect(log.at(-1)).toContain('wall time')
  const wrong = await submit('ann', 'true', ['--mpi-wall-time', 'soon'])
  expect([wrong.code, wrong.text]).toEqual([2, expect.stringContaining('hours:minutes:seconds')])
})

test('users see and rotate their own keys', TIMEOUT, async () => {
  const shown = await own('bob', 'cloud', 'keys')
  expect(shown.text).toMatch(
    /^user bob of http.*\nak: \w{32}\n {2}group ctr: 4 nodes, priorities normal, high, very_high\n$/,
  )
  const file = join(root, 'bob/.config/oarfish/credentials')
  const before = readFileSync(file, 'utf8')
  const rotated = await own('bob', 'cloud', 'keys', '--rotate')
  expect(rotated.text).toMatch(/^ak: \w{32}\nThe new keys are kept as credentials:mine/)
  expect(readFileSync(file, 'utf8')).not.toContain(/sk=(\w+)/.exec(before)![1]!)
  expect((await own('bob', 'jobs')).code).toBe(0)
  const [ak, sk] = ['ak', 'sk'].map((key) => new RegExp(`${key}=(\\w+)`).exec(before)![1]!)
  const old = await run('ann', ['jobs', '--server', url], { OARFISH_AK: ak!, OARFISH_SK: sk! })
  expect([old.code, old.text]).toEqual([2, expect.stringMatching(/unknown key|wrong signature/)])
})

test("a job's environment holds nothing of the server's", TIMEOUT, async () => {
  const id = await train('ann', 'env')
  await over('ann', id, 'succeeded')
  const { text } = await own('ann', 'logs', id, '--role', 'trainer', '--rank', '0')
  expect(text).toContain('COLOUR=blue')
  expect(text).not.toMatch(/servers-own|servers-ssh|\/servers\/kubeconfig/)
  expect(text).not.toMatch(/^(AWS_|KUBECONFIG|OARFISH_SSH|OARFISH_AK|OARFISH_SK|OARFISH_FS_UGI)/m)
})

test('start_cmd is translated wherever the command stands in it, or refused with the reason', TIMEOUT, async () => {
  // Of oarfish run itself: a file that is not there, in place of exit code 127.
  const id = await train('ann', 'export A=1; echo begun $A && python -m paddlerec.run -m none.yaml')
  await over('ann', id, 'failed')
  const { text } = await own('ann', 'logs', id, '--role', 'trainer', '--rank', '0')
  expect(text).toMatch(/^begun 1\n[\s\S]*none\.yaml/)
  expect(text).not.toContain('127')
  const quoted = await submit('ann', 'bash -c "python -m paddlerec.run -m c.yaml"')
  expect([quoted.code, quoted.text]).toEqual([
    2,
    expect.stringMatching(/is not translated there[\s\S]*Write "oarfish run"/),
  ])
  writeFileSync(join(work, 'x.sh'), 'echo x\npython -m paddlerec.run -m c.yaml\n')
  const script = await submit('ann', 'sh x.sh', ['--files', 'x.sh'])
  expect([script.code, script.text]).toEqual([2, expect.stringContaining('x.sh:2: python -m paddlerec.run -m c.yaml')])
})

test('data, model, command and keys that are missing are told together, at submission', TIMEOUT, async () => {
  const config = `workspace: "./"
mode: [ps]
runner:
- {name: ps, class: cluster_train, epochs: 1, device: cpu, fleet_mode: ps, phases: [p]}
dataset:
- {name: d, batch_size: 2, type: DataLoader, data_path: "{workspace}/train_data", sparse_slots: "click 1", dense_slots: "dense_var:1"}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
`
  writeFileSync(join(work, 'config.yaml'), config)
  writeFileSync(join(work, 'reader.ts'), '')
  const fs = { fs_name: `file://${work}`, fs_ugi: 'u,p', train_data_path: '/nothing', output_path: '/o' }
  const backend = {
    ...{ backend: 'PaddleCloud', cluster_type: 'mpi', config: fs },
    submit: { ak: '', sk: '', group: 'ctr', files: './*.ts', start_cmd: 'sh -c "python -m paddlerec.run"' },
  }
  writeFileSync(join(work, 'backend.yaml'), JSON.stringify(backend, undefined, 1))
  const { code, text } = await run('ann', ['run', '-m', 'config.yaml', '-b', 'backend.yaml'])
  expect(code).toBe(2)
  for (const part of [
    'AK or SK',
    '/nothing: there is no such folder',
    'neither model.ts nor static_model.ts',
    'is not translated there',
  ])
    expect(text).toContain(part)
  expect(text).toMatch(/backend\.yaml:\d+:\d+ config\.train_data_path/)
  expect(text).toMatch(/config\.yaml:8:\d+ phase\.p\.model/)
})

const envOf = (name: Name): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(OARFISH|PADDLE|XDG)/.test(key))),
  HOME: join(root, name),
  PATH: [at('bin/path'), process.env['PATH']].join(delimiter),
})

function start(name: Name, args: readonly string[], more: NodeJS.ProcessEnv = {}): ChildProcess {
  mkdirSync(join(root, name), { recursive: true })
  return spawn(process.execPath, [at('bin/oarfish.js'), ...args], {
    cwd: work ?? root,
    env: { ...envOf(name), ...more },
  })
}

function seen(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (text += piece))
  return () => text
}

async function run(name: Name, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  return await ended(start(name, args, more))
}

async function ended(child: ChildProcess) {
  const text = seen(child)
  const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)))
  return { code, text: text() }
}

/** With the keys that are kept for this user. */
const own = (name: Name, ...args: readonly string[]) => run(name, [...args, '--profile', 'mine', '--server', url])

async function submit(name: Name, command: string, flags: readonly string[] = []) {
  const words = ['job', '--profile', 'mine', '--server', url, 'train', '--job-name', 'mine', '--group-name', 'ctr']
  const all = [...words, '--start-cmd', command, '--mpi-nodes', '1', '--distribute-job-type', 'MPI', ...flags, '--json']
  return await ended(spawn(process.execPath, [at('bin/paddlecloud.js'), ...all], { cwd: work, env: envOf(name) }))
}

async function train(name: Name, command: string, ...flags: readonly string[]): Promise<string> {
  const { code, text } = await submit(name, command, flags)
  expect([code, text]).toEqual([0, expect.stringContaining('"jobId"')])
  return /"jobId": "([^"]+)"/.exec(text)![1]!
}

async function over(name: Name, id: string, phase: string): Promise<void> {
  await vi.waitFor(async () => expect((await own(name, 'status', id)).text).toMatch(new RegExp(`${id} .* ${phase} `)), {
    timeout: 120_000,
    interval: 500,
  })
}
