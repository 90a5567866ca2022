/** @file A user with a uid of their own against a job server of root's: what they put into the folder of their job must not move the server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JobRequest } from '../../src/jobs/executors/index.ts'
import { addGroup, addUser, type CloudClient, cloudClient } from '../../src/jobs/server/index.ts'
import { firstOutput } from '../submit/mpi-cluster.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const isRoot = process.getuid?.() === 0
const SECRET = 'root:hash-of-the-password'
const WAIT = { timeout: 60_000, interval: 100 }

let folder: string
let victim: string
let server: ChildProcess | undefined
let said = ''
let [mallory, ann]: CloudClient[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'job-folder-'))
  chmodSync(folder, 0o755)
  victim = join(folder, 'victim')
  writeFileSync(victim, `${SECRET}\n`, { mode: 0o600 })
  const dir = join(folder, 'server')
  await addGroup(join(dir, 'accounts.json'), 'ctr', { quota: 2, priorities: ['high'] })
  const user = async (name: string, uid: number) =>
    await addUser(join(dir, 'accounts.json'), { name, groups: ['ctr'], uid })
  const keys = [await user('mallory', 1001), await user('ann', 1002)]
  // A relative folder, from which supervisors did not find their jobs.
  server = spawn(process.execPath, [OARFISH, 'cloud', 'serve', '--dir', 'server', '--port', '0'], { cwd: folder })
  said = ''
  server.stderr!.on('data', (text) => (said += text))
  const url = /http:\/\/[\d.:]+/.exec(await firstOutput(server, 90_000))![0]
  ;[mallory, ann] = keys.map((own) => cloudClient(url, own))
}, 120_000)
afterEach(async () => {
  const gone = new Promise((done) => server?.once('exit', done))
  if (server?.exitCode === null && server.kill('SIGKILL')) await gone
  for (const name of readdirSync(folder, { recursive: true }) as string[])
    if (name.endsWith('/pids'))
      for (const pid of readFileSync(join(folder, name), 'utf8').trim().split(/\s+/)) end(Number(pid))
  rmSync(folder, { recursive: true, force: true })
})

const described = (command: string): Omit<JobRequest, 'files'> => ({
  ...{ name: 'test', group: 'ctr', priority: 'high', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {}, command },
  roles: [{ name: 'trainer', replicas: 1, resources: {} }],
})

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

/** A job that does these lines in its own folder, with its supervisor killed where they end with `alone`. */
async function attack(lines: string): Promise<string> {
  const script = `cd ../..; supervisor=$(cut -d' ' -f1 started); echo $supervisor $$ > pids
    alone() { kill -9 $supervisor; }
    ${lines}; echo done; exec sleep 600`
  const { jobId } = await mallory!.submit({ request: described(script), files: [] })
  return jobId
}

const phaseOf = async (client: CloudClient, id: string, phase: string) =>
  await vi.waitFor(async () => {
    const info = await client.info(id)
    expect(info.phase, JSON.stringify(info)).toBe(phase)
    return info
  }, WAIT)

/** The server still runs the jobs of others. */
async function servesAnn(): Promise<void> {
  const { jobId } = await ann!.submit({ request: described('true'), files: [] })
  await phaseOf(ann!, jobId, 'succeeded')
}

const isDone = async (id: string) => {
  let text = ''
  await vi.waitFor(async () => {
    text = ''
    for await (const piece of mallory!.logs(id, { role: 'trainer', rank: 0 })) text += piece
    expect(text).toContain('done')
  }, WAIT)
}

test.skipIf(!isRoot).each([
  ['a pipe', 'mkfifo outcome.json'],
  ['a damaged text', 'echo "{" > outcome.json'],
  ['a phase that there is not', `echo '{"phase": "running"}' > outcome.json`],
  ['a file of the server', 'ln -s ../../secrets.key outcome.json'],
])('%s in the place of outcome.json ends that job, and no other', { timeout: 120_000 }, async (_what, lines) => {
  const id = await attack(`${lines}; alone`)
  const { reason } = (await phaseOf(mallory!, id, 'failed')) as { reason?: string }
  expect(reason).toMatch(/outcome.json is damaged/)
  await servesAnn()
  expect(said).toBe('')
})

test.skipIf(!isRoot)(
  'pipes in the place of status.json and started hold the server up nowhere',
  {
    timeout: 120_000,
  },
  async () => {
    const id = await attack('rm started; mkfifo started status.json; alone')
    await phaseOf(mallory!, id, 'failed')
    await servesAnn()
  },
)

test.skipIf(!isRoot)(
  'a job that is stopped ends no process of others and writes through no link',
  {
    timeout: 120_000,
  },
  async () => {
    const other = spawn('sleep', ['600'])
    const ended = vi.fn()
    other.once('exit', ended)
    const stat = readFileSync(`/proc/${other.pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    try {
      const id = await attack(`echo "${other.pid} ${boot}:${start}" > started; ln -s ${victim} stop`)
      await isDone(id)
      await mallory!.stop(id).catch(() => undefined)
      await phaseOf(mallory!, id, 'failed')
      await servesAnn()
      expect(readFileSync(victim, 'utf8')).toBe(`${SECRET}\n`)
      expect(ended).not.toHaveBeenCalled()
    } finally {
      other.kill('SIGKILL')
    }
  },
)

test.skipIf(!isRoot)(
  'what a server tells of a supervisor that did not start is no file of the server',
  {
    timeout: 120_000,
  },
  async () => {
    const id = await attack(`rm started supervisor.txt; ln -s ${victim} supervisor.txt; alone`)
    const { reason } = (await phaseOf(mallory!, id, 'failed')) as { reason?: string }
    expect(reason).toContain('its supervisor could not be started')
    expect(reason).not.toContain(SECRET)
  },
)

test('a job of which no process can be made is refused, and holds nobody up', { timeout: 120_000 }, async () => {
  const [role] = described('true').roles
  const wrong: [Partial<JobRequest>, string | undefined, RegExp][] = [
    [{}, 'x'.repeat(200_000), /fs_ugi/],
    [{}, 'a\0b', /fs_ugi/],
    [{}, 7 as never, /fs_ugi/],
    [{ command: 'echo a\0b' }, undefined, /command: .*without zeros/],
    [{ command: `echo ${'x'.repeat(200_000)}` }, undefined, /command: /],
    [{ env: { A: 'a\0b' } }, undefined, /env.A: .*without zeros/],
    [{ env: { A: 'x'.repeat(200_000) } }, undefined, /env.A: /],
    [{ roles: [role!, role!] }, undefined, /each role once/],
  ]
  for (const [keys, fsUgi, says] of wrong) {
    const request = { ...described('true'), ...keys }
    await expect(mallory!.submit({ request, files: [], fsUgi })).rejects.toThrow(says)
  }
  expect((await mallory!.list()).total).toBe(0)
  expect(said).toBe('')
})

test.each(['__proto__', 'constructor', 'a b', '', 'x'.repeat(100), '../x'])(
  '%j names no user and no group',
  async (name) => {
    const file = join(folder, 'server/accounts.json')
    const before = readFileSync(file, 'utf8')
    await expect(addUser(file, { name, groups: ['ctr'] })).rejects.toThrow(/can be no name/)
    await expect(addGroup(file, name, { quota: 1, priorities: [] })).rejects.toThrow(/can be no name/)
    await expect(addUser(file, { name: 'bob', groups: [name] })).rejects.toThrow(/There is no group/)
    expect(readFileSync(file, 'utf8')).toBe(before)
  },
)
