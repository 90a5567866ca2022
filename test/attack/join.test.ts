/** @file Who may join: an attacker against jobs of real processes, started as users start them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACTOR, eventsOf, ofKind, run } from '../cluster/launch.testing.ts'
import { endOf, watched } from '../fluid/process.testing.ts'
import { type Network, networkTools, openNetwork } from '../netns/network.testing.ts'
import { freePorts } from '../ports.testing.ts'
import { startJob, training } from '../ps/job.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { attack } from './attack.testing.ts'

const FLEETRUN = fileURLToPath(new URL('../../bin/fleetrun.js', import.meta.url))
const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const LONG = ['runner.epochs=100000', 'runner.print_interval=1', 'runner.model_save_path=']
/** Whatever a job would rather keep. */
const TELLING = /list of servers|agreement|config|optimizer|sync_mode|127\.0\.0\.1:\d|job"|secret/

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('a job that fleetrun started', () => {
  let cwd: string
  let launcher: ChildProcess
  let server: string
  let out = ''
  const batches = () => out.split('batch_id').length - 1
  const trainsOn = async () => {
    const before = batches()
    await expect.poll(batches).toBeGreaterThan(before + 1)
    expect(launcher.exitCode).toBe(null)
  }
  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'oarfish-attack-'))
    const tool = ['tools/static_ps_trainer.py', '-m', join(folder, 'config.yaml'), '-o', ...LONG]
    launcher = spawn(process.execPath, [FLEETRUN, '--json', '--worker_num=1', '--server_num=1', ...tool], { cwd })
    launcher.stdout!.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    const until = Date.now() + 120_000
    while (batches() === 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
    server = /"role":"server".*?"endpoint":"([^"]+)"/.exec(out)![1]!
  })
  afterAll(async () => {
    const ended = new Promise((resolve) => launcher.once('close', resolve))
    launcher.kill('SIGTERM')
    await ended
    rmSync(cwd, { recursive: true, force: true })
  })

  test('tells a stranger nothing, believes no token that can be made of what everybody knows, and trains on', async () => {
    const { heard, open } = await attack('listen', server)
    expect(heard).toContain('"nonce"')
    expect(heard).not.toMatch(TELLING)
    expect(open).toBe(1) // who is silent has ten seconds
    const guessed = await attack('guess', server, { knows: { servers: [server], workers: 1 } })
    expect(guessed.in).toBe(0)
    expect(guessed.heard).not.toMatch(TELLING)
    await trainsOn()
  })

  test('cuts off rubbish and lives', async () => {
    const { heard, open } = await attack('rubbish', server)
    expect(heard).not.toMatch(TELLING)
    expect(open).toBe(0)
    await trainsOn()
  })

  test('holds no more than 128 silent connections of one host, and says once a second that some were refused', async () => {
    expect((await attack('silent', server, { seconds: 2 })).open).toBeLessThanOrEqual(128)
    const began = Date.now()
    const told = () => refusalsIn(serverLog())
    const before = told()
    const { sent, refused } = await attack('flood', server, { seconds: 3, rate: 300 })
    expect(sent).toBeGreaterThan(300)
    // What came after the last line stands in the next; those of before may not have been told yet.
    await expect
      .poll(
        async () => {
          await attack('flood', server, { seconds: 0.5, rate: 10 })
          return told().count - before.count
        },
        { interval: 1000 },
      )
      .toBeGreaterThanOrEqual(sent - refused)
    expect(told().lines - before.lines).toBeLessThanOrEqual(2 + (Date.now() - began) / 1000)
    expect(serverLog()).not.toContain('stops now')
    await trainsOn()
  })

  /** Lines about connections that were refused, and how many these were. */
  const refusalsIn = (log: string) => {
    const lines = log.match(/A connection was refused(?: \(and \d+ more)?/g) ?? []
    const count = lines.reduce((sum, line) => sum + 1 + Number(/\d+/.exec(line)?.[0] ?? 0), 0)
    return { lines: lines.length, count }
  }
  const serverLog = () => readFileSync(join(cwd, 'log', 'serverlog.0'), 'utf8')

  test('has its token in no command line, log or output', () => {
    const { token } = JSON.parse(readFileSync(join(cwd, 'log', 'job.json'), 'utf8'))
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect(out).not.toContain(token)
    const logs = readdirSync(join(cwd, 'log')).filter((name) => name !== 'job.json')
    for (const name of logs) expect(readFileSync(join(cwd, 'log', name), 'utf8'), name).not.toContain(token)
    const lines = readdirSync('/proc').flatMap((pid) => {
      try {
        return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : []
      } catch {
        return []
      }
    })
    for (const line of lines) expect(line).not.toContain(token)
  })
})

describe('hosts that meet at a master', () => {
  async function meet(env: Readonly<Record<string, string>>) {
    const cwd = mkdtempSync(join(tmpdir(), 'oarfish-attack-'))
    const [port] = await freePorts(1)
    const master = `127.0.0.1:${port}`
    const flags = ['--master', master, '--nnodes', '2', '--nproc_per_node', '1', '--json']
    const program = [process.execPath, ACTOR, 'worker=env+brief']
    const node = (name: string, onOutput?: (all: string) => void) =>
      run('oarfish', ['launch', ...flags, '--log_dir', name, ...program], { cwd, env, ...(onOutput && { onOutput }) })
    let listens: () => void = () => undefined
    const listening = new Promise<void>((resolve) => {
      listens = resolve
    })
    const first = node('one', (all) => all.includes('Copy the following command') && listens())
    await Promise.race([listening, first])
    const learned = await attack('join', master, { knows: { master, jobId: 'default', nnodes: '2' } })
    const ends = await Promise.all([first, node('two')])
    const ranks = JSON.parse(readFileSync(join(cwd, 'one', 'workerlog.0'), 'utf8').split('\n')[1]!)
    rmSync(cwd, { recursive: true, force: true })
    return { learned, ends, ranks, warnings: ofKind(eventsOf(ends[0]), 'warning').map(({ message }) => message) }
  }

  test('with a token let in nobody who does not know it, and get no other', async () => {
    const token = 'a-token-of-this-test'
    const { learned, ends, ranks, warnings } = await meet({ OARFISH_JOB_TOKEN: token })
    expect(learned.in).toBe(0)
    expect(
      ends.map(({ code }) => code),
      ends[0]!.out + ends[0]!.err,
    ).toEqual([0, 0])
    expect(ranks).toMatchObject({ PADDLE_NNODES: '2', OARFISH_JOB_TOKEN: token })
    expect(warnings).toEqual([])
  })

  test('without one are not harmed by seven joins that are none, are sent no secret, and say once what to set', async () => {
    const { learned, ends, ranks, warnings } = await meet({})
    expect(
      ends.map(({ code }) => code),
      ends[0]!.out + ends[0]!.err,
    ).toEqual([0, 0])
    expect(ranks).toMatchObject({ PADDLE_NNODES: '2', PADDLE_TRAINERS_NUM: '2' })
    expect(ranks.OARFISH_JOB_TOKEN).toBeUndefined()
    expect(learned.heard).not.toMatch(/token|endpoints/)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(
      /^OARFISH_JOB_TOKEN is not set[\s\S]*export OARFISH_JOB_TOKEN="\$\(cat ~\/\.oarfish-token\)"/,
    )
  })

  test('with OARFISH_REQUIRE_TOKEN=1 do not start without one', async () => {
    const args = ['launch', '--master', '127.0.0.1:1', '--nnodes', '2', process.execPath, ACTOR, 'worker=brief']
    const env = { OARFISH_REQUIRE_TOKEN: '1' }
    const { code, err } = await run('oarfish', args, { cwd: folder, env, timeoutMs: 60_000 })
    expect([code, err]).toEqual([2, expect.stringMatching(/OARFISH_JOB_TOKEN is not set, and OARFISH_REQUIRE_TOKEN=1/)])
  })
})

test('a worker that is typed by hand does not start without a token where one is required', async () => {
  const env = {
    ...process.env,
    ...{ PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:7009', PADDLE_TRAINERS_NUM: '1', TRAINING_ROLE: 'TRAINER' },
    ...{ PADDLE_TRAINER_ID: '0', OARFISH_REQUIRE_TOKEN: '1' },
  }
  const words = [OARFISH, 'tool', 'static_ps_trainer', '-m', join(folder, 'config.yaml')]
  const started = watched(spawn(process.execPath, words, { env }))
  expect([await endOf(started, 60_000), started.err]).toEqual([
    2,
    expect.stringMatching(/OARFISH_JOB_TOKEN is not set, and[\s\S]*openssl rand/),
  ])
})

const lacking = networkTools()
describe.skipIf(lacking !== undefined)('netns: on a network', () => {
  let network: Network
  beforeAll(async () => {
    network = await openNetwork({ name: 'attack', hosts: 4 })
  })
  afterAll(() => network?.close())

  test('a job without a token lets in only hosts that it names', async () => {
    const job = await startJob({
      ...{ path: join(folder, 'config.yaml'), workers: 2, servers: 1, overrides: LONG },
      ...{ network, workersListen: true, shared: { derivedToken: true } },
    })
    try {
      await training(job)
      const outside = network.hosts[3]!
      const spawnOn = outside.spawn.bind(outside)
      const { heard } = await attack('guess', job.cluster.servers[0]!, { spawnOn })
      expect(heard).not.toContain('"proof"')
      expect(heard).toContain('"no":true')
      const warned = job.named('server 0').events.filter(({ kind }) => kind === 'warning')
      expect(warned.map(({ message }) => message).join('\n')).toContain('the job does not name its address')
      for (const { name, child } of job.processes) expect(child.exitCode, name).toBe(null)
    } finally {
      job.kill()
    }
  })

  test('runner.tls: auto trains bit for bit the same, and says nothing to one without a certificate of the job', async () => {
    const start = (overrides: readonly string[]) =>
      startJob({
        ...{ path: join(folder, 'config.yaml'), workers: 2, servers: 1, network, options: { digest: true } },
        overrides: ['runner.sync_mode=sync', 'runner.epochs=2', 'runner.model_save_path=', ...overrides],
      })
    const digests: unknown[] = []
    for (const overrides of [[], ['runner.tls=auto']]) {
      const job = await start(overrides)
      try {
        await job.success()
        const results = job.processes.flatMap(({ events }) => events.filter(({ kind }) => kind === 'result'))
        digests.push(results[0]!['digest'])
        const notices = job.named('server 0').events.map(({ message }) => String(message))
        expect(notices.some((message) => message.endsWith('(sync, TLS)'))).toBe(overrides.length > 0)
      } finally {
        job.kill()
      }
    }
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(digests[1]).toBe(digests[0])
    const job = await start(['runner.tls=auto', ...LONG])
    try {
      await training(job)
      const spawnOn = network.hosts[3]!.spawn.bind(network.hosts[3])
      for (const name of ['tls', 'listen'])
        expect((await attack(name, job.cluster.servers[0]!, { spawnOn })).heard.trim()).toBe('')
      for (const { name, child } of job.processes) expect(child.exitCode, name).toBe(null)
    } finally {
      job.kill()
    }
  })
})
