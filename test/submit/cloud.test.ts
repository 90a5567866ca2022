/** @file The job server as a process: submissions by its client, kill -9, wrong keys, what is too large, and logs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { addGroup, addUser, cloudClient, type JobRequest } from '../../src/cloud/index.ts'
import { hashOf, sign } from '../../src/cloud/sign.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

let folder: string
let server: ChildProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-'))
})
afterEach(async () => {
  await end('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

test('a job runs to its end, its logs are there, and its folder was made once', { timeout: 60_000 }, async () => {
  const client = await started()
  writeFileSync(join(folder, 'hello.txt'), 'hello\n')
  const { jobId } = await client.submit({
    request: request({ command: 'cat hello.txt && echo role $TRAINING_ROLE of $PADDLE_TRAINERS_NUM' }),
    files: [{ name: 'hello.txt', path: join(folder, 'hello.txt') }],
  })
  await phaseOf(client, jobId, 'succeeded')
  const text = await all(client.logs(jobId, { role: 'trainer', rank: 0 }))
  expect(text).toBe('hello\nrole TRAINER of 1\n')
})

test('a job that fails says which process failed first, with its last lines', { timeout: 60_000 }, async () => {
  const client = await started()
  const { jobId } = await client.submit({ request: request({ command: 'echo out of luck; exit 3' }), files: [] })
  const { reason } = await phaseOf(client, jobId, 'failed')
  expect(reason).toMatch(/worker 0.* failed first: exit code 3/)
  expect(reason).toContain('out of luck')
})

test('stopping ends the processes of a job', { timeout: 60_000 }, async () => {
  const client = await started()
  const { jobId } = await client.submit({ request: request({ command: 'echo $$; exec sleep 600' }), files: [] })
  await phaseOf(client, jobId, 'running')
  const pid = await vi.waitFor(
    async () => Number((await all(client.logs(jobId, { role: 'trainer', rank: 0 }))) || fail()),
    {
      timeout: 20_000,
    },
  )
  await client.stop(jobId)
  await phaseOf(client, jobId, 'stopped')
  expect(existsSync(`/proc/${pid}`)).toBe(false)
})

test('a killed server loses no job and starts none twice', { timeout: 120_000 }, async () => {
  let client = await started()
  const marks = join(folder, 'marks')
  mkdirSync(marks)
  const command = `echo x >> ${marks}/$OARFISH_JOB_ID; sleep 0.2`
  const ids: string[] = []
  for (let round = 0; round < 4; round++) {
    // Killed at another moment of a submission and of the queue in each round.
    const killed = new Promise((done) => setTimeout(done, 40 + 170 * round)).then(() => end('SIGKILL'))
    for (;;) {
      const sent = await client.submit({ request: request({ command }), files: [] }).catch(() => undefined)
      if (!sent) break
      ids.push(sent.jobId)
      if (ids.length > 8 * (round + 1)) break
    }
    await killed
    client = await started()
  }
  expect(ids.length).toBeGreaterThan(3)
  for (const id of ids) await phaseOf(client, id, 'succeeded')
  for (const id of ids) expect([id, readFileSync(join(marks, id), 'utf8')]).toEqual([id, 'x\n'])
})

test('wrong keys, a replay, other groups and files that are too large are refused, and nothing is left', {
  timeout: 60_000,
}, async () => {
  const client = await started(['--max-file-mb', '1'])
  const { url, keys } = connection!
  const refused = (changed: Partial<typeof keys>) => cloudClient(url, { ...keys, ...changed }).list()
  await expect(refused({ sk: 'wrong' })).rejects.toThrow(/wrong signature/)
  await expect(refused({ ak: 'wrong' })).rejects.toThrow(/unknown key/)
  const headers = sign({ method: 'GET', path: '/v1/jobs', hash: hashOf('') }, keys)
  expect([await status(`${url}/v1/jobs`, headers), await status(`${url}/v1/jobs`, headers)]).toEqual([200, 401])
  await expect(client.submit({ request: request({ group: 'none' }), files: [] })).rejects.toThrow(/no group none/)
  writeFileSync(join(folder, 'big'), Buffer.alloc(2 << 20))
  const big = { request: request({}), files: [{ name: 'big', path: join(folder, 'big') }] }
  await expect(client.submit(big)).rejects.toThrow(/big has 2097152 bytes; a file may have 1048576/)
  expect((await client.list()).total).toBe(0)
  expect(JSON.parse(await textAt(`${url}/openapi.json`))).toMatchObject({ openapi: '3.1.0' })
})

test('a server that is gone in the middle of an upload leaves no job behind', { timeout: 60_000 }, async () => {
  const client = await started()
  writeFileSync(join(folder, 'file'), Buffer.alloc(1 << 20))
  const submission = client.submit({
    request: request({}),
    files: [{ name: 'file', path: join(folder, 'file') }],
    onAdmitted: () => void end('SIGKILL'),
  })
  await expect(submission).rejects.toThrow(/cannot be reached/)
  const again = await started()
  expect((await again.list()).jobs.map(({ phase }) => phase)).toEqual(['stopped'])
})

function fail(): never {
  throw new Error('not yet')
}

let connection: { url: string; keys: { ak: string; sk: string } } | undefined

async function started(more: readonly string[] = []) {
  const dir = join(folder, 'server')
  const accounts = join(dir, 'accounts.json')
  if (!existsSync(accounts)) {
    mkdirSync(dir)
    await addGroup(accounts, 'ctr', { quota: 2, priorities: ['high'] })
    const { ak, sk } = await addUser(accounts, { name: 'me', groups: ['ctr'] })
    connection = { url: '', keys: { ak, sk } }
  }
  const child = spawn(process.execPath, [OARFISH, 'cloud', 'serve', '--dir', dir, '--port', '0', ...more])
  server = child
  const url = await new Promise<string>((done, failed) => {
    const timer = setTimeout(() => failed(new Error('the server did not start')), 20_000)
    child.stderr.on('data', (text) => failed(new Error(String(text))))
    child.stdout.on('data', (text) => {
      clearTimeout(timer)
      done(/http:\/\/[\d.:]+/.exec(String(text))![0])
    })
  })
  connection = { ...connection!, url }
  return cloudClient(url, connection.keys)
}

async function end(signal: NodeJS.Signals): Promise<void> {
  const child = server
  server = undefined
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill(signal)
  await gone
}

async function phaseOf(client: ReturnType<typeof cloudClient>, id: string, phase: string) {
  return await vi.waitFor(
    async () => {
      const info = await client.info(id)
      expect([info.phase, info.reason]).toEqual([phase, phase === 'failed' ? expect.anything() : undefined])
      return info
    },
    { timeout: 40_000, interval: 100 },
  )
}

async function all(texts: AsyncIterable<string>): Promise<string> {
  let whole = ''
  for await (const text of texts) whole += text
  return whole
}

function status(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((done, failed) => {
    httpRequest(url, { headers }, (response) => done(response.resume().statusCode!))
      .on('error', failed)
      .end()
  })
}

const textAt = async (url: string) => await (await fetch(url)).text()

function request(keys: Partial<JobRequest>): Omit<JobRequest, 'files'> {
  return {
    ...{ name: 'test', group: 'ctr', priority: 'high', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {}, command: 'true' },
    roles: [{ name: 'trainer', replicas: 1, resources: {} }],
    ...keys,
  }
}
