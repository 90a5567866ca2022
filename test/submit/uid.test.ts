/** @file Jobs of a user with a `--uid`, on a server of root's: the lines of docs/guide/submit.md, in their order, on a machine where nothing was made before. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { type CloudClient, cloudClient } from '../../src/jobs/server/index.ts'
import { freePort } from '../ports.testing.ts'
import { at, mpiTools } from './mpi-cluster.testing.ts'

const lacking = mpiTools()
if (lacking) console.warn(`skipped: ${lacking}`)

let folder: string
let machine: ChildProcess | undefined
afterEach(async () => {
  const gone = new Promise((done) => machine?.once('exit', done) ?? done(undefined))
  if (machine?.exitCode === null) process.kill(-machine.pid!, 'SIGKILL')
  else machine = undefined
  if (machine) await gone
  rmSync(folder, { recursive: true, force: true })
})

/** The block of a page that has this text in it. */
function documented(text: string): string {
  const page = readFileSync(at('docs/guide/submit.md'), 'utf8')
  return [...page.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)]
    .map(([, block]) => block!)
    .find((block) => block.includes(text))!
}

/** Root's home is closed to everybody, and nobody has run a server: /var/lib is empty. */
async function fresh(lines: string, uid = '1001'): Promise<CloudClient> {
  folder = mkdtempSync(join(tmpdir(), 'uid-'))
  chmodSync(folder, 0o755)
  const home = join(folder, 'root')
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'hosts'), 'localhost slots=2\n', { mode: 0o600 })
  const port = await freePort()
  const script = lines.replace('--port 8180', `--port ${port}`).replace('--uid 1001', `--uid ${uid}`)
  const env = { ...process.env, HOME: home, PATH: [at('bin/path'), process.env['PATH']].join(delimiter) }
  const own = `mount -t tmpfs -o mode=755 tmpfs /var/lib && umask 077 && ${'set -e'}\n${script}`
  machine = spawn('unshare', ['--mount', 'sh', '-c', own], { cwd: home, env, detached: true })
  let text = ''
  for (const stream of [machine.stdout!, machine.stderr!]) stream.on('data', (piece) => (text += piece))
  await vi.waitFor(() => expect(text).toContain('The job server listens'), { timeout: 120_000, interval: 100 })
  expect(text).toContain('/var/lib/oarfish/cloud')
  const [ak, sk] = ['ak', 'sk'].map((name) => [...text.matchAll(new RegExp(`^${name}: (\\w+)`, 'gm'))].at(-1)![1]!)
  return cloudClient(`http://127.0.0.1:${port}`, { ak: ak!, sk: sk! })
}

async function ended(client: CloudClient, command: string) {
  const { jobId } = await client.submit({
    request: {
      ...{ name: 'who', group: 'ctr', priority: 'high', kind: 'PS_CPU_MPI', env: {}, data: {} },
      roles: [
        { name: 'pserver', replicas: 2, resources: {} },
        { name: 'trainer', replicas: 2, resources: {} },
      ],
      command,
    },
    files: [],
  })
  const info = await vi.waitFor(
    async () => {
      const now = await client.info(jobId)
      expect(['succeeded', 'failed']).toContain(now.phase)
      return now
    },
    { timeout: 150_000, interval: 300 },
  )
  let log = ''
  for await (const piece of client.logs(jobId, { role: 'trainer', rank: 1 })) log += piece
  return { ...info, log }
}

test.skipIf(lacking)(
  `the lines of the page: a job runs as the uid of its user, by mpirun ${lacking ?? ''}`,
  async () => {
    const client = await fresh(documented('user add me --group ctr --uid'))
    const { phase, reason, log } = await ended(
      client,
      'id -u; cat /var/lib/oarfish/cloud/accounts.json || echo hidden; echo home $HOME',
    )
    expect([phase, reason]).toEqual(['succeeded', undefined])
    expect(log).toMatch(/^1001\n[\s\S]*Permission denied[\s\S]*hidden\nhome \/\n$/)
  },
)

test.skipIf(lacking)(`a supervisor that cannot start says why ${lacking ?? ''}`, async () => {
  // Installed where only root can read it.
  const closed = `mkdir "$HOME/package" && mount --bind ${at('.')} "$HOME/package"`
  const lines = documented('user add me --group ctr --uid').replace(
    'oarfish cloud serve',
    () => `${closed}\nexec node "$HOME/package/bin/oarfish.js" cloud serve`,
  )
  const client = await fresh(lines)
  const { phase, reason } = await ended(client, 'true')
  expect([phase, reason]).toEqual([
    'failed',
    expect.stringMatching(
      /supervisor could not be started as uid 1001: [\s\S]*(EACCES|Cannot find module|permission denied)[\s\S]*must be able to read/i,
    ),
  ])
})
