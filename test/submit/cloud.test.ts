/** @file The job server as a process: submissions by its client, kill -9, wrong keys, what is too large, and logs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JobRequest } from '../../src/jobs/executors/index.ts'
import { addGroup, addUser, cloudClient } from '../../src/jobs/server/index.ts'
import { hashOf, sign } from '../../src/jobs/server/sign.ts'
import { oarfish } from '../oarfish.testing.ts'
import { expectWithin } from '../within.testing.ts'

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

test('a job runs to its end, its logs are there, and its folder was made once', async () => {
  const client = await started()
  writeFileSync(join(folder, 'hello.txt'), 'hello\n')
  const { jobId } = await client.submit({
    request: request({ command: 'cat hello.txt && echo role $TRAINING_ROLE of $PADDLE_TRAINERS_NUM' }),
    files: [{ name: 'hello.txt', path: join(folder, 'hello.txt') }],
  })
  await phaseOf(client, jobId, 'succeeded')
  const text = await all(client.logs(jobId, { role: 'trainer', rank: 0 }))
  expect(text).toBe('hello\nrole TRAINER of 1\n')
  const { url, keys } = connection!
  const env = { PADDLECLOUD_SERVER: url, OARFISH_AK: keys.ak, OARFISH_SK: keys.sk }
  const typo = await oarfish(['logs', jobId, '--role', 'trainr'], folder, undefined, env)
  expect(typo.err).toContain('There is no log of trainr')
})

test('a second server leaves the jobs of the first alone, and what it cannot use is told in words', {
  timeout: 60_000,
}, async () => {
  await started()
  const serve = (...flags: string[]) => oarfish(['cloud', 'serve', ...flags], folder)
  const dir = join(folder, 'server')
  const before = readFileSync(join(dir, 'journal'), 'utf8')
  const second = await serve('--dir', dir, '--port', '0')
  expect([second.code, second.err]).toEqual([
    2,
    expect.stringMatching(/Another job server, process \d+, keeps its jobs/),
  ])
  expect(readFileSync(join(dir, 'journal'), 'utf8')).toBe(before)
  const port = new URL(connection!.url).port
  const taken = await serve('--dir', join(folder, 'other'), '--port', port)
  expect([taken.code, taken.err]).toEqual([2, expect.stringContaining('another program has this port')])
  writeFileSync(join(folder, 'file'), '')
  const noFolder = await serve('--dir', join(folder, 'file'))
  expect([noFolder.code, noFolder.err]).toEqual([2, expect.stringContaining('Jobs cannot be kept in')])
  const noHosts = await serve('--executor', 'ssh', '--hostfile', 'nowhere', '--dir', join(folder, 'other'))
  expect([noHosts.code, noHosts.err]).toEqual([2, expect.stringContaining('there is no nowhere')])
  const group = await oarfish(['cloud', 'group', 'add', 'x', '--quota', '1', '--dir', join(folder, 'file')], folder)
  expect([group.code, group.err]).toEqual([2, expect.stringContaining('cannot be read')])
})

test('a job that fails says which process failed first, with its last lines', async () => {
  const client = await started()
  const { jobId } = await client.submit({ request: request({ command: 'echo out of luck; exit 3' }), files: [] })
  const { reason } = await phaseOf(client, jobId, 'failed')
  expect(reason).toMatch(/worker 0.* failed first: exit code 3/)
  expect(reason).toContain('out of luck')
})

test('data that is not there is the reason told, though every node still sends its logs', {
  timeout: 60_000,
}, async () => {
  const client = await started()
  const data = { fileSystem: `file://${folder}`, train: '/nothing', output: '/out' }
  writeFileSync(join(folder, 'end_hook.sh'), 'echo the end\n')
  const { jobId } = await client.submit({
    request: request({ data, roles: [{ name: 'trainer', replicas: 2, resources: {} }] }),
    files: [{ name: 'end_hook.sh', path: join(folder, 'end_hook.sh') }],
  })
  const { reason } = await phaseOf(client, jobId, 'failed')
  expect(reason).toContain(`${folder}/nothing: there is no such folder`)
  expect(readdirSync(join(folder, 'out/log')).sort()).toEqual(['end_hook.0.log', 'end_hook.1.log', 'job.log'])
})

test('stopping ends the processes of a job', async () => {
  const client = await started()
  const { jobId } = await client.submit({ request: request({ command: 'echo $$; exec sleep 600' }), files: [] })
  await phaseOf(client, jobId, 'running')
  const pid = await vi.waitFor(
    async () => Number((await all(client.logs(jobId, { role: 'trainer', rank: 0 }))) || fail()),
    {
      timeout: 90_000,
    },
  )
  await client.stop(jobId)
  await phaseOf(client, jobId, 'stopped')
  expect(existsSync(`/proc/${pid}`)).toBe(false)
})

test('a killed server loses no job and starts none twice', async () => {
  let client = await started()
  const marks = join(folder, 'marks')
  mkdirSync(marks)
  const command = `echo x >> ${marks}/$OARFISH_JOB_ID; sleep 0.2`
  const ids: string[] = []
  for (let round = 0; round < 4; round++) {
    // Killed at another moment of a submission and of the queue in each round.
    let killed: Promise<void> | undefined
    for (let sent = 0; ; sent++) {
      if (sent === round + 1) killed = sleep(40 * round).then(() => end('SIGKILL'))
      const accepted = await client.submit({ request: request({ command }), files: [] }).catch(() => undefined)
      if (!accepted) break
      ids.push(accepted.jobId)
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

test('a file of 2 GB is refused before it is read, by the server and by oarfish run, and nothing is left', {
  timeout: 60_000,
}, async () => {
  const client = await started()
  const big = join(folder, 'big.ts')
  writeFileSync(big, '')
  truncateSync(big, 2 ** 31) // has no blocks on the disk
  const began = performance.now()
  await expect(client.submit({ request: request({}), files: [{ name: 'big.ts', path: big }] })).rejects.toThrow(
    /big.ts has 2147483648 bytes; a file may have/,
  )
  await expectWithin(performance.now() - began, 1000)
  expect((await client.list()).total).toBe(0)
  const config = { backend: 'PaddleCloud', cluster_type: 'mpi' }
  const fs = { fs_name: 'file:///', fs_ugi: 'u,p', train_data_path: '/t', output_path: '/o' }
  const submit = { ak: 'a', sk: 's', group: 'ctr', files: './*.ts' }
  writeFileSync(join(folder, 'backend.yaml'), JSON.stringify({ ...config, config: fs, submit }))
  writeFileSync(join(folder, 'config.yaml'), RUN_CONFIG)
  const { code, err } = await oarfish(['run', '-m', 'config.yaml', '-b', 'backend.yaml'], folder)
  expect([code, err]).toEqual([2, expect.stringMatching(/submit.files: big.ts has 2147483648 bytes/)])
  expect(readdirSync(folder).sort()).toEqual(['backend.yaml', 'big.ts', 'config.yaml', 'server'])
})

test('an upload that breaks off goes on where it was', async () => {
  await started()
  const content = randomBytes(3_000_000)
  writeFileSync(join(folder, 'file'), content)
  const { url, keys } = connection!
  const relay = await breakingRelay(Number(new URL(url).port), 1_000_000, 2)
  try {
    const client = cloudClient(`http://127.0.0.1:${relay.port}`, keys)
    const { jobId } = await client.submit({
      request: request({ command: 'sha256sum file' }),
      files: [{ name: 'file', path: join(folder, 'file') }],
    })
    await phaseOf(client, jobId, 'succeeded')
    const text = await all(client.logs(jobId, { role: 'trainer', rank: 0 }))
    expect(text).toContain(createHash('sha256').update(content).digest('hex'))
    expect(relay.broken()).toBe(2)
    // What came before a break is not sent again.
    expect(relay.bytes()).toBeLessThan(4_000_000)
  } finally {
    relay.close()
  }
})

test('--dry-run prints the request that is then made, and touches nothing', async () => {
  const requests: { path: string; body: Record<string, unknown> }[] = []
  const recording = createHttpServer(async (asked, response) => {
    requests.push({ path: asked.url!, body: (await json(asked)) as Record<string, unknown> })
    response.writeHead(403).end(JSON.stringify({ error: 'Only recorded.', hint: 'none' }))
  })
  await new Promise<void>((done) => recording.listen(0, '127.0.0.1', done))
  const address = `http://127.0.0.1:${(recording.address() as AddressInfo).port}`
  writeFileSync(join(folder, 'config.yaml'), RUN_CONFIG)
  writeFileSync(join(folder, 'model.ts'), '')
  const fs = { fs_name: 'hdfs://name:9870', fs_ugi: 'user,secret-word', train_data_path: '/t', output_path: '/o' }
  const submit = { ak: 'access', sk: 'secret-key', group: 'ctr', files: './*.py', nodes: 2, server: address }
  const backend = { backend: 'PaddleCloud', cluster_type: 'mpi', config: fs, submit }
  writeFileSync(join(folder, 'backend.yaml'), JSON.stringify(backend))
  const command = ['run', '-m', 'config.yaml', '-b', 'backend.yaml']
  const dry = await oarfish([...command, '--dry-run'], folder)
  expect([dry.code, requests]).toEqual([0, []])
  expect(readdirSync(folder).sort()).toEqual(['backend.yaml', 'config.yaml', 'model.ts'])
  expect(dry.out).not.toMatch(/secret-(word|key)/)
  const [head, text] = dry.out.split(/^POST /m)[1]!.split(/\n([\s\S]*)/) as [string, string]
  await oarfish(command, folder, undefined, { OARFISH_CREDENTIALS: join(folder, 'credentials') })
  recording.close()
  const { files, ...body } = requests[0]!.body
  const names = (files as { name: string }[]).map(({ name }) => name).sort()
  const { fsUgi, ...printed } = JSON.parse(text) as Record<string, unknown>
  expect([head, fsUgi]).toEqual([`${address}/v1/jobs`, '******'])
  expect(printed).toEqual({ ...body, files: names })
})

test('without mpirun the server does not start, and says what to install', async () => {
  const flags = ['cloud', 'serve', '--dir', join(folder, 'server'), '--port', '0', '--executor', 'mpi']
  const child = spawn(process.execPath, [OARFISH, ...flags], { env: { ...process.env, PATH: '/nowhere' } })
  let text = ''
  child.stderr.on('data', (piece) => (text += piece))
  expect(await new Promise((done) => child.once('exit', done))).toBe(2)
  expect(text).toMatch(/There is no mpirun on the PATH.*\n.*Install Open MPI/)
})

test('a server that is gone in the middle of an upload leaves no job behind', async () => {
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

const RUN_CONFIG = `workspace: "./"
mode: [ps]
runner:
- {name: ps, class: cluster_train, epochs: 1, device: cpu, fleet_mode: ps, phases: [p]}
dataset:
- {name: d, batch_size: 2, type: DataLoader, data_path: "{workspace}/train_data", sparse_slots: "click 1", dense_slots: "dense_var:1"}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
`

/** Ends connections after so many bytes to the server, so many times. */
async function breakingRelay(to: number, after: number, times: number) {
  let [broken, bytes] = [0, 0]
  const relay = createServer((client) => {
    const server = connect(to, '127.0.0.1')
    let own = 0
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.on('data', (piece) => {
      own += piece.length
      bytes += piece.length
      if (own < after || broken === times) return server.write(piece)
      broken++
      server.destroy()
      client.destroy()
    })
    client.on('end', () => server.end())
    server.pipe(client)
  })
  await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done))
  const { port } = relay.address() as AddressInfo
  return { port, broken: () => broken, bytes: () => bytes, close: () => void relay.close() }
}

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
    const timer = setTimeout(() => failed(new Error('the server did not start')), 90_000)
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
    { timeout: 90_000, interval: 100 },
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
