/** @file Strangers at the pages of running commands: the dashboard, the metrics of a run, a server that follows a trainer. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { attack } from './attack.testing.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const SECRET = 'hunter-2-of-the-run'

let folder: string
const running: ChildProcess[] = []
beforeAll(async () => {
  folder = await tinyFolder(320)
})
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Starts a command; resolves to what `form` finds in what it says. */
function said(
  args: readonly string[],
  form: RegExp,
  cwd = folder,
  env: NodeJS.ProcessEnv = {},
): Promise<RegExpExecArray> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { ...process.env, ...env } })
  running.push(child)
  let text = ''
  return new Promise((resolve, reject) => {
    child.once('close', () => reject(new Error(text)))
    for (const stream of [child.stdout, child.stderr])
      stream!.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        const found = form.exec(text)
        if (found) resolve(found)
      })
  })
}

/** A run as a stranger may have left it: names and texts that would be orders to a page or a terminal, a log that is none of the run's. */
function forgedRun(): string {
  const at = mkdtempSync(join(tmpdir(), 'oarfish-forged-'))
  const run = join(at, 'runs', 'forged')
  for (const part of ['processes', 'events', 'curves']) mkdirSync(join(run, part), { recursive: true })
  const meta = {
    version: 1,
    name: '\u001b[2J<script>alert(1)</script>',
    id: 'x',
    createdAt: 1,
    command: [],
    model: 'm',
  }
  const more = {
    settings: { 'runner.a': SECRET },
    source: { file: 'f', text: SECRET, overrides: [] },
    host: 'h',
    cwd: '/',
  }
  writeFileSync(join(run, 'run.json'), JSON.stringify({ ...meta, ...more }))
  writeFileSync(join(at, 'shadow'), 'root:x')
  symlinkSync(join(at, 'shadow'), join(at, 'train.log'))
  for (const [i, log] of ['/etc/passwd', join(at, 'train.log'), '/dev/zero'].entries()) {
    const status = { role: 'worker', rank: i, pid: 1, state: 'running', startedAt: 1, updatedAt: 1, starts: 1, log }
    writeFileSync(join(run, 'processes', `worker-${i}.json`), JSON.stringify(status))
  }
  return at
}

const PATHS = [
  '/',
  '/api/runs',
  '/api/runs/forged',
  '/api/charts/forged',
  '/api/live/',
  '/api/runs/forged/logs/worker-0',
]

test('a dashboard that asks for its token tells strangers nothing, at loopback and elsewhere', async () => {
  const at = forgedRun()
  for (const flags of [['--host', '0.0.0.0'], ['--token']]) {
    const [, port, token] = await said(
      ['dashboard', at, '--port', '0', ...flags],
      /http:\/\/[^:]+:(\d+)\/\?token=(\S+)/,
    )
    const target = `127.0.0.1:${port}`
    const { in: believed, heard, statuses } = await attack('web', target, { knows: { paths: PATHS } })
    expect(believed).toBe(0)
    expect(statuses.filter((status) => status >= 500 || status === 0)).toEqual([])
    expect(heard).not.toMatch(new RegExp(`${SECRET}|forged|root:|${token}|\\.ts:\\d+`))
    expect((await fetch(`http://${target}/api/runs?token=${token}`)).status).toBe(200)
  }
  rmSync(at, { recursive: true, force: true })
})

test('without a token it shows runs to this host alone, no file but a log, and takes nothing', async () => {
  const at = forgedRun()
  const [, port] = await said(['dashboard', at, '--port', '0'], /http:\/\/127\.0\.0\.1:(\d+)\//)
  const { heard, statuses } = await attack('web', `127.0.0.1:${port}`, { knows: { paths: PATHS } })
  expect(statuses.filter((status) => status >= 500 || status === 0)).toEqual([])
  expect(heard).not.toContain('root:')
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  for (const rank of [0, 1, 2]) expect((await ask(`/api/runs/forged/logs/worker-${rank}`)).status).toBe(404)
  for (const method of ['POST', 'PUT', 'DELETE']) expect((await ask('/api/runs', { method })).status).toBe(405)
  const page = await ask('/')
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'sha256-/)
  expect(page.headers.get('access-control-allow-origin')).toBe(null)
  const nowhere = await oarfish(['dashboard', 'nowhere'], at)
  expect([nowhere.code, nowhere.err]).toEqual([2, expect.stringMatching(/There is no folder .*nowhere/)])
  writeFileSync(join(at, 'a-file'), 'text')
  const file = await oarfish(['dashboard', 'a-file'], at)
  expect([file.code, file.err]).toEqual([2, expect.stringMatching(/There is no folder .*a-file/)])
  const { out, code } = await oarfish(['runs', '--dir', at], at)
  expect([code, out]).toEqual([0, expect.stringContaining('?[2J<script>')])
  expect(out).not.toContain('\u001b')
  rmSync(at, { recursive: true, force: true })
})

test('the metrics of a run are read, and nothing else; asking without end does not end it', async () => {
  const args = [
    'train',
    '-m',
    'config.yaml',
    '--metrics_port',
    '0',
    '-o',
    'runner.epochs=100000',
    'runner.print_interval=1',
  ]
  const [, port] = await said(args, /Metrics: http:\/\/127\.0\.0\.1:(\d+)\/metrics/)
  const url = `http://127.0.0.1:${port}/metrics`
  const { statuses, heard } = await attack('web', `127.0.0.1:${port}`, { knows: { paths: ['/', '/metrics'] } })
  expect(statuses.filter((status) => status >= 500 || status === 0)).toEqual([])
  expect(heard).not.toMatch(/root:|OARFISH_|token=/)
  expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(405)
  const batches = async () => Number(/^oarfish_batches_total\S* (\d+)/m.exec(await (await fetch(url)).text())?.[1] ?? 0)
  const before = await batches()
  for (let i = 0; i < 2000; i++) await (await fetch(url)).arrayBuffer()
  await expect.poll(batches, { timeout: 60_000 }).toBeGreaterThan(before)
})

test('a run folder is as readable as the umask says, and holds no secret that was typed', async () => {
  const own = await tinyFolder(64)
  chmodSync(own, 0o700)
  const typed = ['-o', 'runner.epochs=1', 'runner.fs_client={uri: "", user: "", passwd: "hunter2"}']
  const { code, err } = await oarfish(['train', '-m', 'config.yaml', '--name', 'one', ...typed], own)
  expect([code, err]).toEqual([0, ''])
  const { out } = await oarfish(['runs', '--json'], own)
  expect(out).toContain('"name": "one"')
  expect(out).not.toContain('hunter2')
  const [{ folder: run }] = JSON.parse(out) as [{ folder: string }]
  expect(statSync(join(run, 'run.json')).mode & 0o777 & process.umask()).toBe(0)
  rmSync(own, { recursive: true, force: true })
})
