/** @file What a job server must not do: run a request twice, tell jobs its secrets, keep them in plain text, die of a damaged file. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JobRequest } from '../../src/jobs/executors/index.ts'
import { addGroup, addUser, type CloudClient, cloudClient } from '../../src/jobs/server/index.ts'
import { hashOf, sign } from '../../src/jobs/server/sign.ts'
import { firstOutput } from './mpi-cluster.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const SECRET = 'user,word-of-the-file-system'

let folder: string
let dir: string
let keys: { ak: string; sk: string }
let server: ChildProcess | undefined
let [url, said] = ['', '']

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'server-safety-'))
  dir = join(folder, 'server')
  mkdirSync(dir)
  await addGroup(join(dir, 'accounts.json'), 'ctr', { quota: 2, priorities: ['high'] })
  keys = await addUser(join(dir, 'accounts.json'), { name: 'me', groups: ['ctr'] })
})
afterEach(async () => {
  await end()
  rmSync(folder, { recursive: true, force: true })
})

test('a request that was answered before a restart starts no second job', async () => {
  await started()
  const body = JSON.stringify({ ...described({}), files: [] })
  const headers = sign({ method: 'POST', path: '/v1/jobs', hash: hashOf(body) }, keys)
  expect((await ask('POST', '/v1/jobs', headers, body)).status).toBe(201)
  await end()
  const client = await started()
  const again = await ask('POST', '/v1/jobs', headers, body)
  expect([again.status, again.text]).toEqual([401, expect.stringContaining('replayed')])
  expect((await client.list()).total).toBe(1)
})

test('a job gets variables of the list and those of --pass-env, and no other of the server', async () => {
  const client = await started(['--pass-env', 'SITE_NAME'], {
    ...{ DATABASE_PASSWORD: 'hidden', OARFISH_SK: 'hidden', OARFISH_FS_UGI: 'hidden,hidden', LC_TIME: 'C' },
    ...{ SITE_NAME: 'north', HTTPS_PROXY: 'http://me:hidden@proxy' },
  })
  const { jobId } = await client.submit({ request: described({ command: 'env' }), files: [] })
  await phaseOf(client, jobId, 'succeeded')
  const env = await logsOf(client, jobId)
  expect(env).not.toContain('hidden')
  expect(env).toMatch(/^SITE_NAME=north$/m)
  expect(env).toMatch(/^LC_TIME=C$/m)
  expect(env).toMatch(/^PATH=./m)
})

test('a damaged accounts.json is told once, everybody is refused, and when it is mended the server goes on', async () => {
  const client = await started()
  const file = join(dir, 'accounts.json')
  const good = readFileSync(file)
  for (const damaged of ['{"groups": {', 'null', '{"groups": {}, "users": {"me": 7}}']) {
    said = ''
    writeFileSync(file, damaged)
    const answers = [await ask('GET', '/v1/jobs'), await ask('GET', '/v1/jobs')]
    expect(answers.map(({ status }) => status)).toEqual([503, 503])
    expect(answers[0]!.text).not.toContain(file)
    await expect(client.list()).rejects.toThrow(/cannot read its accounts/)
    // What it says comes by another way than its answers, and may be later.
    await vi.waitFor(
      () => expect(said.match(/accounts.json cannot be read.*Every request is refused until/g)).toHaveLength(1),
      { timeout: 60_000 },
    )
    writeFileSync(file, good)
    expect((await client.list()).total).toBe(0)
    await vi.waitFor(() => expect(said).toContain('can be read again'), { timeout: 60_000 })
    expect(said.match(/Every request is refused/g)).toHaveLength(1)
  }
})

test.each([
  ['GET', '//', undefined, 400],
  ['GET', '/v1/jobs/%', undefined, 400],
  ['POST', '/v1/jobs', 'null', 400],
  ['POST', '/v1/checks', '[]', 400],
  ['POST', '/v1/jobs', '7', 400],
  ['GET', '/nothing', undefined, 404],
])('%s %s with the body %s is answered by %d', async (method, path, body, status) => {
  await started()
  const headers = sign({ method, path, hash: hashOf(body ?? '') }, keys)
  expect(await rawStatus(method, path, headers, body ?? '')).toBe(status)
})

test('keys and fs_ugi are on the disk under the key file only, and fs_ugi is gone with its job', async () => {
  const client = await started()
  expect(statSync(join(dir, 'secrets.key')).mode & 0o777).toBe(0o600)
  const command = 'echo "got $OARFISH_FS_UGI"; until test -e go; do sleep 0.05; done'
  const { jobId } = await client.submit({ request: described({ command }), files: [], fsUgi: SECRET })
  await vi.waitFor(async () => expect(await logsOf(client, jobId)).toBe(`got ${SECRET}\n`), { timeout: 60_000 })
  expect(filesWith(dir, SECRET).filter((file) => !file.endsWith('.log'))).toEqual([])
  expect(filesWith(dir, keys.sk)).toEqual([])
  expect(readdirSync(join(dir, 'secrets'))).toEqual([jobId])
  await client.stop(jobId)
  await phaseOf(client, jobId, 'stopped')
  expect(readdirSync(join(dir, 'secrets'))).toEqual([])
})

test('files of an earlier version, with keys and fs_ugi in plain text, are read and rewritten', async () => {
  const sk = 'ab'.repeat(32)
  const user = { id: '1', ak: keys.ak, sk, groups: ['ctr'] }
  const groups = { ctr: { quota: 2, priorities: ['high'] } }
  writeFileSync(join(dir, 'accounts.json'), JSON.stringify({ groups, users: { me: user } }))
  const request = { ...described({ command: 'echo "got $OARFISH_FS_UGI"' }), files: [] }
  const job = (id: string) => ({ t: 'job', id, at: 1, user: 'me', request, fsUgi: SECRET })
  const phase = (id: string, name: string) => ({ t: 'phase', id, at: 2, phase: name })
  const records = [job('job-over'), phase('job-over', 'succeeded'), job('job-waits'), phase('job-waits', 'queued')]
  mkdirSync(join(dir, 'jobs/job-waits/files'), { recursive: true })
  writeFileSync(join(dir, 'journal'), records.map(journalLine).join(''))
  keys = { ak: keys.ak, sk }
  const client = await started()
  expect(readFileSync(join(dir, 'accounts.json'), 'utf8')).not.toContain(sk)
  expect(readFileSync(join(dir, 'journal'), 'utf8')).not.toContain(SECRET)
  await phaseOf(client, 'job-waits', 'succeeded')
  expect(await logsOf(client, 'job-waits')).toBe(`got ${SECRET}\n`)
  expect((await client.info('job-over')).phase).toBe('succeeded')
  expect(readdirSync(join(dir, 'secrets'))).toEqual([])
})

test('without its key file the server says so, and new keys are given by rotate', async () => {
  const key = readFileSync(join(dir, 'secrets.key'))
  rmSync(join(dir, 'secrets.key'))
  const client = await started()
  await vi.waitFor(async () => {
    expect((await ask('GET', '/v1/jobs')).status).toBe(503)
    expect(said).toMatch(/does not open with .*secrets\.key/)
  })
  const made = readFileSync(join(dir, 'secrets.key'))
  writeFileSync(join(dir, 'secrets.key'), key)
  await vi.waitFor(async () => expect((await client.list()).total).toBe(0), { timeout: 30_000, interval: 200 })
  writeFileSync(join(dir, 'secrets.key'), made)
  const { rotateKeys } = await import('../../src/jobs/server/index.ts')
  keys = await rotateKeys(join(dir, 'accounts.json'), 'me')
  expect((await cloudClient(url, keys).list()).total).toBe(0)
})

const journalLine = (record: unknown) => {
  const text = JSON.stringify(record)
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

/** A job that waits for the files it has announced, and how one of them is sent. */
async function announcing(files: readonly { name: string; bytes: number; sha256: string }[]) {
  const body = JSON.stringify({ ...described({}), files })
  const headers = sign({ method: 'POST', path: '/v1/jobs', hash: hashOf(body) }, keys)
  const answer = await ask('POST', '/v1/jobs', headers, body)
  const { jobId } = JSON.parse(answer.text) as { jobId: string }
  const put = (name: string, content: string, from = 0) => {
    const path = `/v1/jobs/${jobId}/files/${encodeURIComponent(name)}?from=${from}`
    return ask('PUT', path, sign({ method: 'PUT', path, hash: hashOf(content) }, keys), content)
  }
  return { answer, jobId, put }
}

const announce = (name: string, content: string) => ({ name, bytes: content.length, sha256: hashOf(content) })
const filesOf = (jobId: string) => {
  const found = (readdirSync(dir, { recursive: true }) as string[]).find((name) => name.endsWith(join(jobId, 'files')))
  return join(dir, found!)
}

test('an upload that is longer than announced, damaged, or of a name that was not announced is refused and leaves nothing', async () => {
  await started()
  const { jobId, put } = await announcing([announce('model.py', 'x = 1'), announce('data', 'abc')])
  const long = await put('model.py', 'x = 1; and much more')
  expect([long.status, long.text]).toEqual([400, expect.stringContaining('longer than the 5 bytes')])
  const damaged = await put('model.py', 'x = 2')
  expect([damaged.status, damaged.text]).toEqual([400, expect.stringContaining('did not arrive as it was announced')])
  for (const name of ['other.py', '../accounts.json', '..', '/etc/passwd', '.model.py.part'])
    expect((await put(name, 'x = 1')).status, name).toBe(404)
  for (const from of [-1, 3, 1e9, Number.NaN]) expect((await put('model.py', 'x = 1', from)).status).toBe(409)
  expect(readdirSync(filesOf(jobId))).toEqual([])
  expect((await put('model.py', 'x = 1')).status).toBe(200)
  expect(readdirSync(filesOf(jobId))).toEqual(['model.py'])
})

test('an upload that breaks off is kept, and goes on where it ended', async () => {
  await started()
  const content = 'y'.repeat(100_000)
  const { jobId, put } = await announcing([announce('big', content)])
  const path = `/v1/jobs/${jobId}/files/big?from=0`
  const headers = sign({ method: 'PUT', path, hash: hashOf(content) }, keys)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`PUT ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${content.length}\r\n${lines.join('')}\r\n`)
  socket.write(content.slice(0, 40_000))
  const part = () => readdirSync(filesOf(jobId)).map((name) => statSync(join(filesOf(jobId), name)).size)
  await vi.waitFor(() => expect(part()).toEqual([40_000]), { timeout: 60_000 })
  socket.destroy()
  const rest = await vi.waitFor(async () => {
    const answer = await put('big', content.slice(40_000), 40_000)
    expect(answer.status, answer.text).not.toBe(409)
    return answer
  })
  expect(rest.status, rest.text).toBe(200)
  expect(readFileSync(join(filesOf(jobId), 'big'), 'utf8')).toBe(content)
})

test.each(['.model.py.part', 'model.py'])(
  'a link that stands where a file comes in (%s) makes room, and is not written through',
  async (name) => {
    await started()
    const { jobId, put } = await announcing([announce('model.py', 'x = 1')])
    const victim = join(folder, 'victim')
    writeFileSync(victim, 'untouched')
    symlinkSync(victim, join(filesOf(jobId), name))
    const answer = await put('model.py', 'x = 1')
    expect(answer.status, answer.text).toBe(200)
    expect(readFileSync(victim, 'utf8')).toBe('untouched')
    const path = join(filesOf(jobId), 'model.py')
    expect([lstatSync(path).isSymbolicLink(), readFileSync(path, 'utf8')]).toEqual([false, 'x = 1'])
  },
)

test('names that lead out of the folder, too many files and too many bytes are refused before anything is made', async () => {
  await started()
  const zero = (name: string) => ({ name, bytes: 0, sha256: hashOf('') })
  const wrong = [
    ...['../x', 'a/b', '..', '.', '', 'a\\b', 'a\0b', 'n'.repeat(256)].map((name) => [zero(name)]),
    Array.from({ length: 10_001 }, (_, i) => zero(`f${i}`)),
    [{ ...zero('huge'), bytes: 2 ** 50 }],
    [{ ...zero('x'), bytes: -1 }],
    [{ ...zero('x'), sha256: 'no' }],
  ]
  for (const files of wrong) {
    const { answer } = await announcing(files)
    expect([400, 413], `${JSON.stringify(files).slice(0, 80)}: ${answer.text}`).toContain(answer.status)
  }
  expect((await cloudClient(url, keys).list()).total).toBe(0)
})

async function started(flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<CloudClient> {
  const words = [OARFISH, 'cloud', 'serve', '--dir', dir, '--port', '0', ...flags]
  const child = spawn(process.execPath, words, { env: { ...process.env, ...env } })
  server = child
  said = ''
  child.stderr.on('data', (text) => (said += text))
  url = /http:\/\/[\d.:]+/.exec(await firstOutput(child, 60_000))![0]
  return cloudClient(url, keys)
}

async function end(): Promise<void> {
  const child = server
  server = undefined
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await gone
}

function ask(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body = '') {
  return new Promise<{ status: number; text: string }>((done, failed) => {
    httpRequest(`${url}${path}`, { method, headers }, (response) => {
      let text = ''
      response.on('data', (piece) => (text += piece)).on('end', () => done({ status: response.statusCode!, text }))
    })
      .on('error', failed)
      .end(body)
  })
}

/** The path as it is: http.request would make another one of `//`. */
async function rawStatus(method: string, path: string, headers: Readonly<Record<string, string>>, body: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${length}${lines.join('')}\r\n${body}`)
  let text = ''
  for await (const piece of socket) text += piece
  return Number(text.split(' ')[1])
}

const phaseOf = async (client: CloudClient, id: string, phase: string) =>
  await vi.waitFor(async () => expect((await client.info(id)).phase).toBe(phase), { timeout: 60_000, interval: 100 })

async function logsOf(client: CloudClient, id: string): Promise<string> {
  let whole = ''
  for await (const text of client.logs(id, { role: 'trainer', rank: 0 })) whole += text
  return whole
}

const filesWith = (root: string, text: string) =>
  (readdirSync(root, { recursive: true }) as string[])
    .map((name) => join(root, name))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text))

function described(keys: Partial<JobRequest>): Omit<JobRequest, 'files'> {
  return {
    ...{ name: 'test', group: 'ctr', priority: 'high', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {}, command: 'true' },
    roles: [{ name: 'trainer', replicas: 1, resources: {} }],
    ...keys,
  }
}
