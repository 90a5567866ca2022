/** @file The job server: submissions a minute, and how long it takes to list ten thousand jobs. JSON lines. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addGroup, addUser, cloudClient } from '../src/jobs/server/index.ts'
import { at } from './tools.ts'

const SUBMISSIONS = 1000
const LISTED = 10_000

const folder = mkdtempSync(join(tmpdir(), 'bench-cloud-'))
const dir = join(folder, 'server')
mkdirSync(dir)
await addGroup(join(dir, 'accounts.json'), 'g', { quota: 1, priorities: ['normal'] })
const keys = await addUser(join(dir, 'accounts.json'), { name: 'me', groups: ['g'] })
const { child, url } = await serve()
const client = cloudClient(url, keys)
const file = { name: 'model.ts', path: join(folder, 'model.ts') }
writeFileSync(file.path, 'x'.repeat(10_000))
const submit = async () =>
  await client.submit({
    request: {
      ...{ name: 'bench', group: 'g', priority: 'normal', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {} },
      roles: [{ name: 'trainer', replicas: 1, resources: {} }],
      command: 'sleep 600', // the first one holds the quota, the others wait
    },
    files: [file],
  })
const first = await submit()
const began = performance.now()
for (let i = 0; i < SUBMISSIONS; i += 4) await Promise.all([submit(), submit(), submit(), submit()])
const seconds = (performance.now() - began) / 1000
console.log(JSON.stringify({ name: 'submissions', perMinute: Math.round((SUBMISSIONS / seconds) * 60) }))
for (let i = SUBMISSIONS; i < LISTED; i += 8) await Promise.all(Array.from({ length: 8 }, submit))
const times: number[] = []
for (let i = 0; i < 20; i++) {
  const start = performance.now()
  const { jobs } = await client.list(LISTED)
  if (jobs.length < LISTED) throw new Error(`only ${jobs.length} jobs were listed`)
  times.push(performance.now() - start)
}
times.sort((a, b) => a - b)
console.log(JSON.stringify({ name: `list ${LISTED} jobs`, medianMs: times[10], worstMs: times.at(-1) }))
await client.stop(first.jobId)
child.kill('SIGTERM')
rmSync(folder, { recursive: true, force: true })
process.exit(0)

function serve(): Promise<{ child: ChildProcess; url: string }> {
  const started = spawn(process.execPath, [at('bin', 'oarfish.js'), 'cloud', 'serve', '--dir', dir, '--port', '0'])
  return new Promise((done, fail) => {
    started.stderr.on('data', (text) => fail(new Error(String(text))))
    started.stdout.on('data', (text) => done({ child: started, url: /http:\/\/[\d.:]+/.exec(String(text))![0] }))
  })
}
