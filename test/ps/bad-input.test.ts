/** @file What users get wrong about a distributed job, with real processes: each is told what is wrong and what to do. */
import { type ChildProcess, spawn } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROTOCOL_VERSION, socketTransport } from '../../src/base/net/index.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { type Job, type JobOptions, startJob, training } from './job.testing.ts'
import { othersEnd } from './others-end.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  await writeFile(join(folder, 'late.ts'), lateReader(9000))
  await writeFile(join(folder, 'prompt.ts'), lateReader(0))
  await writeFile(join(folder, 'later.ts'), lateReader(20_000))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const start = (options: Omit<JobOptions, 'path'>) => startJob({ path: join(folder, 'config.yaml'), ...options })
const of = (job: Job, name: string, kind: string) =>
  job.named(name).events.filter((event) => event['kind'] === kind) as { code?: string; message: string }[]
const LONG = ['runner.epochs=100000', 'runner.print_interval=1']

describe('the environment', { concurrent: true }, () => {
  const SERVERS = '127.0.0.1:7001,127.0.0.1:7002'
  const WORKER = {
    PADDLE_PSERVERS_IP_PORT_LIST: SERVERS,
    PADDLE_TRAINERS_NUM: '2',
    TRAINING_ROLE: 'TRAINER',
    PADDLE_TRAINER_ID: '0',
    POD_IP: '127.0.0.1',
    PADDLE_PORT: '7003',
  }
  const SERVER = { ...WORKER, TRAINING_ROLE: 'PSERVER', PADDLE_PORT: '7001' }

  test.each<[string, object, RegExp]>([
    [
      'no number of workers',
      { PADDLE_TRAINERS_NUM: '' },
      /Can not find PADDLE_TRAINERS_NUM[\s\S]*the number of workers of the whole job/,
    ],
    [
      'no role',
      { TRAINING_ROLE: '' },
      /Can not find TRAINING_ROLE[\s\S]*what this process is: TRAINER \(a worker\) or PSERVER/,
    ],
    ['no rank', { PADDLE_TRAINER_ID: '' }, /Can not find PADDLE_TRAINER_ID[\s\S]*the rank of this worker, from 0/],
    [
      'a rank that is too high',
      { PADDLE_TRAINER_ID: '2' },
      /PADDLE_TRAINER_ID: expected a whole number from 0 to 1, got "2"/,
    ],
    [
      'a list that is none',
      { PADDLE_PSERVERS_IP_PORT_LIST: 'one,two' },
      /expected host:port entries separated by commas, got "one"/,
    ],
    ['two servers on one endpoint', { PADDLE_PSERVERS_IP_PORT_LIST: 'a:1,a:1' }, /a:1 stands there twice/],
    [
      'a server that is not in the list',
      { ...SERVER, PADDLE_PORT: '7009' },
      /This server is 127\.0\.0\.1:7009 .*which is not in PADDLE_PSERVERS/,
    ],
    [
      'a deadline that is no number',
      { FLAGS_rpc_deadline: 'soon' },
      /FLAGS_rpc_deadline: it is "soon", expected milliseconds/,
    ],
    [
      "an endpoint that is not this host's",
      { ...SERVER, PADDLE_PSERVERS_IP_PORT_LIST: '203.0.113.7:7001', POD_IP: '203.0.113.7' },
      /the server cannot listen at 203\.0\.113\.7:7001: this host does not have that address[\s\S]*check POD_IP, PADDLE_PORT/,
    ],
  ])('with %s is named with its meaning, exit code 2', async (_, change, message) => {
    const { code, said } = await tool({ ...WORKER, ...change })
    expect(said).toMatch(message)
    expect(code).toBe(2)
  })

  test('of a job with servers does not make a tool of one process train alone', async () => {
    const { code, said } = await tool(WORKER, 'static_trainer')
    expect([code, said]).toEqual([
      2,
      expect.stringMatching(/static_trainer works in one process[\s\S]*tools\/static_ps_trainer\.py/),
    ])
  })

  test('without a token is pointed out once, by worker 0', async () => {
    const derived = { cluster: { derivedToken: true } }
    const own = { 'worker 0': derived, 'worker 1': derived, 'server 0': derived }
    const job = await start({ workers: 2, servers: 1, own })
    try {
      await job.success()
      const lines = job.processes.flatMap(({ events }) =>
        events.filter(({ message }) => String(message).startsWith('OARFISH_JOB_TOKEN is not set')),
      )
      expect(lines).toHaveLength(1)
    } finally {
      job.kill()
    }
  })
})

describe('a second server on an endpoint', () => {
  test('says that another process listens there', async () => {
    const busy = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => busy.once('listening', resolve))
    const { port } = busy.address() as { port: number }
    const own = { 'server 0': { cluster: { endpoint: `127.0.0.1:${port}`, servers: [`127.0.0.1:${port}`] } } }
    const job = await start({ workers: 1, servers: 1, own, workersStarted: false })
    try {
      expect(await job.named('server 0').ended).toBe(1)
      expect(of(job, 'server 0', 'failed')).toMatchObject([
        {
          code: 'PS_LISTEN',
          message: expect.stringContaining('two servers may have the same endpoint, or an old job still runs'),
        },
      ])
    } finally {
      job.kill()
      busy.close()
    }
  })
})

describe('a stranger', () => {
  test('of another version is refused and named at most once a second; a worker that comes later is served', async () => {
    const job = await start({ workers: 1, servers: 1, overrides: LONG })
    try {
      await training(job)
      const began = performance.now()
      for (let i = 0; i < 5; i++) await sayVersion(job.cluster.servers[0]!, PROTOCOL_VERSION + 1)
      const seconds = (performance.now() - began) / 1000
      const named = () => of(job, 'server 0', 'warning').filter(({ message }) => message.includes('protocol version'))
      await expect.poll(() => named().length).toBeGreaterThanOrEqual(1)
      const refused = named()
      expect(refused.length).toBeLessThanOrEqual(1 + seconds)
      expect(refused[0]!.message).toMatch(
        /protocol version \d+ does not fit version \d+[\s\S]*install the same version of oarfish/,
      )
      for (const { name, child } of job.processes) expect(child.exitCode, name).toBe(null)
    } finally {
      job.kill()
    }
  })
})

describe('waiting', { concurrent: true }, () => {
  test('for a server names it and what it was asked', async () => {
    // In sync the server cannot answer worker 0 before worker 1, whose reader is late, has pushed.
    const overrides = [
      'runner.sync_mode=sync',
      'runner.reader_type=RecDataset',
      'runner.train_reader_path=prompt',
      'runner.model_save_path=',
    ]
    const own = { 'worker 1': { overrides: ['runner.train_reader_path=late'] } }
    const job = await start({ workers: 2, servers: 1, overrides, own })
    try {
      await job.success()
      const waits = of(job, 'worker 0', 'notice').filter(({ message }) => message.startsWith('Waiting for server'))
      expect(waits.map(({ message }) => message)).toEqual([
        expect.stringMatching(
          /^Waiting for server\[0\] 127\.0\.0\.1:\d+: no answer to pull\(.*\) for 5 s\. It is alive, but slow or waiting for others\.$/,
        ),
      ])
    } finally {
      job.kill()
    }
  })

  test('longer than FLAGS_rpc_deadline ends the job, naming the server', async () => {
    const overrides = [
      'runner.sync_mode=sync',
      'runner.reader_type=RecDataset',
      'runner.train_reader_path=prompt',
      'runner.model_save_path=',
    ]
    // Longer than the workers need to come together at the beginning of the epoch, which is asked for as well.
    const own = { 'worker 1': { overrides: ['runner.train_reader_path=later'] } }
    const job = await start({ workers: 2, servers: 1, overrides, own, options: { requestTimeoutMs: 8000 } })
    try {
      expect(await job.named('worker 0').ended).toBe(1)
      expect(of(job, 'worker 0', 'failed')).toMatchObject([
        {
          code: 'NET_NO_ANSWER',
          message: expect.stringMatching(/^server\[0\] .*: no answer to pull\(.*\) in 8000 ms, though it is alive$/),
        },
      ])
      expect(await job.named('server 0').ended).toBe(1)
      expect(await job.named('worker 1').ended).toBe(1)
    } finally {
      job.kill()
    }
  })
})

test('split_file_list with files that differ is refused: dealing them out would lose samples', async () => {
  const own = { 'worker 1': { overrides: ['runner.train_data_dir=data/test'] } }
  const job = await start({ workers: 2, servers: 1, overrides: ['runner.split_file_list=True'], own })
  try {
    for (const name of ['worker 0', 'worker 1']) {
      expect(await job.named(name).ended, name).toBe(1)
      expect(of(job, name, 'failed'), name).toMatchObject([
        {
          code: 'PS_FILES_DIFFER',
          message: expect.stringContaining('worker[0] and worker[1] differ, first at part-0'),
        },
      ])
    }
  } finally {
    job.kill()
  }
})

test('a server whose memory is full refuses new rows; every process says which server and what to do', async () => {
  const job = await start({ workers: 2, servers: 2, overrides: ['runner.server_memory_mb=1', ...LONG], own: {} })
  try {
    for (const { name, ended } of job.processes) expect(await ended, name).toBe(1)
    for (const { name } of job.processes) {
      expect(of(job, name, 'failed'), name).toMatchObject([
        {
          code: 'PS_MEMORY_LIMIT',
          message: expect.stringMatching(
            /^the tables of server\[\d\] 127\.0\.0\.1:\d+ take \d+ MB, its limit is 1 MB: it takes no new rows$/,
          ),
        },
      ])
    }
  } finally {
    job.kill()
  }
})

describe('a process that falls silent', () => {
  test.each([
    ['worker 1', 'async', /^worker\[1\] \(this host\) is gone: (no sign of life|it has left the job)/],
    ['worker 0', 'geo', /^worker\[0\] \(this host\) is gone: (no sign of life|it has left the job)/],
  ])('%s (%s): the others name it and end within 5 s', async (name, mode, message) => {
    const overrides = [...LONG, `runner.sync_mode=${mode}`, 'runner.model_save_path=']
    await silenced(overrides, name, 'SIGSTOP', message)
  })

  test.each(['SIGKILL', 'SIGSTOP'] as const)('a server while a model is saved (%s): the same', async (signal) => {
    const overrides = [
      ...LONG,
      `runner.model_save_path=${join(folder, `killed-${signal}`)}`,
      'runner.keep_checkpoints=1',
    ]
    await silenced(overrides, 'server 1', signal, /server\[1\] .*is gone|server\[1\] .*has left/, 'epoch')
  })

  /** Waits for an event of worker 0, then silences a process and times the rest. */
  async function silenced(overrides: string[], name: string, signal: NodeJS.Signals, message: RegExp, after = 'batch') {
    const job = await start({ workers: 2, servers: 2, overrides: [...overrides, 'runner.silence_limit=3.5'] })
    try {
      await training(job)
      // What happens right behind the end of an epoch is saving.
      const seen = of(job, 'worker 0', after).length
      while (of(job, 'worker 0', after).length === seen) await new Promise((resolve) => setTimeout(resolve, 5))
      const at = Date.now()
      job.named(name).child.kill(signal)
      await othersEnd(job, name, at, message)
    } finally {
      job.kill()
    }
  }
})

/** Runs a tool with this environment alone; what it says, on either stream. */
async function tool(env: object, name = 'static_ps_trainer'): Promise<{ code: number | null; said: string }> {
  const bin = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [bin, 'tool', name, '-m', join(folder, 'config.yaml')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const timer = setTimeout(() => child.kill('SIGKILL'), 200_000)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearTimeout(timer)
  return { code, said }
}

/** Greets a server as a process of another version would. */
async function sayVersion(endpoint: string, version: number): Promise<void> {
  const connection = await socketTransport.connect(endpoint, { timeoutMs: 60_000 })
  const closed = new Promise<void>((resolve) => connection.listen({ frame: () => undefined, closed: () => resolve() }))
  const hello = {
    magic: 'oarfish',
    version,
    nonce: '',
    jobId: 'test',
    role: 'worker',
    rank: 0,
    agreement: {},
    facts: {},
    proof: '',
  }
  connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(hello))])
  await closed
}

/** A reader of slot text whose first sample comes late. */
function lateReader(ms: number): string {
  return `import { readFileSync } from 'node:fs'
export class RecDataset {
  constructor(readonly files: readonly string[]) {}
  async *[Symbol.asyncIterator]() {
    await new Promise((resolve) => setTimeout(resolve, ${ms}))
    for (const line of readFileSync(this.files[0]!, 'utf8').trim().split('\\n')) {
      const sample: Record<string, (string | number)[]> = {}
      for (const word of line.split(' ')) {
        const [name = '', value = ''] = word.split(':')
        ;(sample[name] ??= []).push(name === 'x' ? Number(value) : value)
      }
      yield sample
    }
  }
}
`
}
