/** @file The commands of a user: submitting twice, the route of PaddleRec's guide without backend.yaml, keys, and where the server is. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { firstOutput } from './mpi-cluster.testing.ts'

const bin = (path: string) => fileURLToPath(new URL(`../../bin/${path}`, import.meta.url))
const TIMEOUT = { timeout: 240_000 }

let root: string
let server: ChildProcess
let url: string
let keys: { ak: string; sk: string }
let work: string
let runs = 0
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'client-'))
  mkdirSync(join(root, 'home'))
  const dir = ['--dir', join(root, 'server')]
  await run(['cloud', 'group', 'add', 'ctr', '--quota', '2', ...dir], root)
  keys = keysIn((await run(['cloud', 'user', 'add', 'me', '--group', 'ctr', ...dir], root)).text)
  server = spawn(process.execPath, [bin('oarfish.js'), 'cloud', 'serve', '--port', '0', ...dir], { env: env({}) })
  url = /http:\/\/[\d.:]+/.exec(await firstOutput(server))![0]
})
afterAll(async () => {
  server?.kill('SIGKILL')
  // Jobs go on without it, and may be writing.
  await vi.waitFor(() => rmSync(root, { recursive: true, force: true }), { timeout: 90_000, interval: 200 })
})
beforeEach(() => {
  work = join(root, `work-${runs++}`)
  mkdirSync(work)
})

test('PaddleCloud-Client route: config.ini and job.sh of a user, with --ak and --sk', TIMEOUT, async () => {
  writeFileSync(join(work, 'config.ini'), '# of my own\nPADDLE_PADDLEREC_ROLE=WORKER\nCOLOUR=blue\n')
  writeFileSync(join(work, 'before_hook.sh'), 'echo "Run before_hook.sh ..."\n')
  const flags = `--job-name mine --group-name ctr --job-conf config.ini --start-cmd 'echo $COLOUR $TRAINING_ROLE' --files ./* --mpi-nodes 1 --mpi-priority high --is-standalone 0 --permission group --job-version paddle-fluid-v1.7.1 --json`
  writeFileSync(join(work, 'job.sh'), `paddlecloud job --ak ${keys.ak} --sk ${keys.sk} train ${flags}\n`)
  for (const shell of ['dash', 'bash']) {
    const { code, text } = await sh(shell, work)
    expect([code, text]).toEqual([0, expect.stringContaining('Congratulations! The new job is ready for training.')])
    const id = /"jobId": "([^"]+)"/.exec(text)![1]!
    expect(text).toContain('"groupName": "ctr"')
    await over(id, 'succeeded')
    expect((await run(['logs', id, '--role', 'trainer', '--rank', '0'], work)).text).toBe('blue TRAINER\n')
  }
})

test('a before_hook that fetches PaddleRec is answered with the line to write instead', TIMEOUT, async () => {
  writeFileSync(join(work, 'config.ini'), 'PADDLE_PADDLEREC_ROLE=WORKER\n')
  writeFileSync(join(work, 'before_hook.sh'), 'wget https://paddlerec.bj.bcebos.com/whl/PaddleRec.tar.gz\n')
  const flags = `--job-name mine --group-name ctr --start-cmd true --files ./* --mpi-nodes 1`
  writeFileSync(join(work, 'job.sh'), `paddlecloud job --ak ${keys.ak} --sk ${keys.sk} train ${flags}\n`)
  const { code, text } = await sh('sh', work)
  expect([code, text]).toEqual([2, expect.stringMatching(/fetches PaddleRec[\s\S]*npm install --global --prefix/)])
})

test('over quota, and with keys that were changed, nothing comes in', TIMEOUT, async () => {
  writeFileSync(join(work, 'config.ini'), 'A=1\n')
  const job = (ak: string, sk: string, nodes: number) =>
    writeFileSync(
      join(work, 'job.sh'),
      `paddlecloud job --ak ${ak} --sk ${sk} train --job-name mine --group-name ctr --start-cmd true --mpi-nodes ${nodes}\n`,
    )
  job(keys.ak, keys.sk, 3)
  expect((await sh('sh', work)).text).toMatch(/needs 3 nodes, group ctr has 2 in all[\s\S]*fewer/)
  const old = keys
  keys = keysIn((await run(['cloud', 'user', 'rotate', 'me', '--dir', join(root, 'server')], work)).text)
  job(old.ak, old.sk, 1)
  expect(await sh('sh', work)).toEqual({ code: 2, text: expect.stringMatching(/unknown key|wrong signature/) })
  job(keys.ak, keys.sk, 1)
  expect((await sh('sh', work)).code).toBe(0)
})

test(
  'a second submission in the same minute has a folder of its own; sh job.sh submits it again',
  TIMEOUT,
  async () => {
    prepareRun()
    const texts = [await submit(), await submit()].map(({ text }) => text)
    const folders = texts.map((text) => /folder is generated at (.*)/.exec(text)![1]!)
    expect(new Set(folders).size).toBe(2)
    for (const folder of folders) {
      const held = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
      for (const secret of [keys.ak, keys.sk, 'pass-word']) expect(held.join()).not.toContain(secret)
      expect(texts.join()).not.toContain(keys.sk)
    }
    const again = await sh('sh', folders[0]!)
    expect([again.code, again.text]).toEqual([0, expect.stringContaining('"jobId"')])
  },
)

test('nothing at the address: what to start, and where the address comes from', TIMEOUT, async () => {
  prepareRun()
  const { code, text } = await submit({ PADDLECLOUD_SERVER: 'http://127.0.0.1:9' })
  expect(code).toBe(2)
  for (const part of ['oarfish cloud serve', 'submit.server', 'PADDLECLOUD_SERVER', 'cloud.yaml', '127.0.0.1:8180'])
    expect(text).toContain(part)
  expect(text).not.toContain('end submit')
})

test('the address is that of ~/.config/oarfish/cloud.yaml where nothing nearer says one', TIMEOUT, async () => {
  prepareRun()
  const home = join(work, 'home')
  mkdirSync(join(home, '.config/oarfish'), { recursive: true })
  const ownHome = { HOME: home, PADDLECLOUD_SERVER: undefined }
  const cloudYaml = (text: string) => writeFileSync(join(home, '.config/oarfish/cloud.yaml'), text)
  cloudYaml(`server: ${url}\n`)
  const { code, text } = await submit(ownHome)
  expect([code, text]).toEqual([0, expect.stringContaining('"jobId"')])
  cloudYaml('server: http://127.0.0.1:9\n')
  expect((await submit(ownHome)).text).toContain('127.0.0.1:9')
  expect((await submit({ ...ownHome, PADDLECLOUD_SERVER: url })).code).toBe(0)
  for (const [content, says] of [
    ['server: 127.0.0.1\n', /cloud\.yaml: server is "127\.0\.0\.1", expected an address like http:/],
    ['sever: http://a\n', /cloud\.yaml: there is no "server" in it/],
    ['server: [\n', /cloud\.yaml: it cannot be read as yaml/],
  ] as const) {
    cloudYaml(content)
    expect(await submit(ownHome)).toEqual({ code: 2, text: expect.stringMatching(says) })
  }
})

test(
  'keys from the environment stand for those of backend.yaml and of a profile that is not here',
  TIMEOUT,
  async () => {
    prepareRun({ ak: '', sk: '' })
    const home = { HOME: join(work, 'home') }
    const lacks = await submit(home)
    expect([lacks.code, lacks.text]).toEqual([2, expect.stringMatching(/AK or SK[\s\S]*OARFISH_AK/)])
    const ours = { ...home, OARFISH_AK: keys.ak, OARFISH_SK: keys.sk }
    const { code, text } = await submit(ours)
    expect([code, text]).toEqual([0, expect.stringContaining('"jobId"')])
    const folder = /folder is generated at (.*)/.exec(text)![1]!
    for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(keys.sk)

    // The folder on another machine: its profile is unknown there.
    const elsewhere = { HOME: join(work, 'elsewhere') }
    const unknown = await sh('sh', folder, elsewhere)
    expect([unknown.code, unknown.text]).toEqual([2, expect.stringMatching(/no credentials called[\s\S]*OARFISH_AK/)])
    expect((await sh('sh', folder, { ...ours, ...elsewhere })).code).toBe(0)
    // A profile that is there comes before the environment.
    expect((await sh('sh', folder, { ...elsewhere, OARFISH_AK: 'other', OARFISH_SK: 'other' })).code).toBe(0)
  },
)

function prepareRun(values = {}): void {
  const slots = 'sparse_slots: "click 1", dense_slots: "dense_var:1"'
  writeFileSync(
    join(work, 'config.yaml'),
    `workspace: "./"
mode: [ps]
runner:
- {name: ps, class: cluster_train, epochs: 1, device: cpu, fleet_mode: ps, phases: [p]}
dataset:
- {name: d, batch_size: 2, type: DataLoader, data_path: "{workspace}/train_data", ${slots}}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
`,
  )
  writeFileSync(join(work, 'model.ts'), '')
  mkdirSync(join(root, 'remote/t'), { recursive: true })
  writeFileSync(join(root, 'remote/t/part-0'), 'click:1 1:2\n')
  const config = {
    fs_name: `file://${root}/remote`,
    fs_ugi: 'user,pass-word',
    train_data_path: '/t',
    output_path: '/o',
  }
  const submission = { ...keys, group: 'ctr', files: './*.py', start_cmd: 'true', ...values }
  const backend = { backend: 'PaddleCloud', cluster_type: 'mpi', config, submit: submission }
  writeFileSync(join(work, 'backend.yaml'), JSON.stringify(backend))
}

const submit = (more = {}) => run(['run', '-m', 'config.yaml', '-b', 'backend.yaml'], work, more)
const keysIn = (text: string) => ({ ak: /ak: (\w+)/.exec(text)![1]!, sk: /sk: (\w+)/.exec(text)![1]! })

const env = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...process.env,
  HOME: join(root, 'home'),
  PATH: [bin('path'), process.env['PATH']].join(delimiter),
  ...(url !== undefined && { PADDLECLOUD_SERVER: url }),
  ...more,
})

const run = (args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}) =>
  finished(spawn(process.execPath, [bin('oarfish.js'), ...args], { cwd, env: env(more) }))

const sh = (shell: string, cwd: string, more: NodeJS.ProcessEnv = {}) =>
  finished(spawn(shell, ['job.sh'], { cwd, env: env(more) }))

async function finished(child: ChildProcess): Promise<{ code: number; text: string }> {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (text += piece))
  return { code: await new Promise<number>((done) => child.once('close', (code) => done(code ?? -1))), text }
}

async function over(id: string, phase: string): Promise<void> {
  await vi.waitFor(async () => expect((await run(['status', id], work)).text).toContain(phase), {
    timeout: 120_000,
    interval: 500,
  })
}
