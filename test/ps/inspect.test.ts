/** @file `oarfish inspect` against a job of real processes: what it shows is what the servers hold, and strangers see nothing. */
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InspectAnswer, inspectHot } from '../../src/training/ps/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { type Job, startJob, training } from './job.testing.ts'

let folder: string
let job: Job
const overrides = ['runner.epochs=1000000', 'runner.print_interval=1', 'runner.model_save_path=']
beforeAll(async () => {
  folder = await tinyFolder()
  job = await startJob({ path: join(folder, 'config.yaml'), workers: 1, servers: 2, overrides })
  await training(job)
})
afterAll(async () => {
  job?.kill()
  await rm(folder, { recursive: true, force: true })
})

const inspect = (...args: string[]) => oarfish(['inspect', '--token', 'secret', ...args], folder)
const answerOf = async (...args: string[]) => {
  const { code, out, err } = await inspect('--json', ...args)
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out) as InspectAnswer
}

describe('oarfish inspect', () => {
  test('shows a server: mode, steps, shards and tables with their rows', async () => {
    const answer = await answerOf('--server', job.cluster.servers[1]!)
    expect(answer).toMatchObject({ kind: 'server', server: 1, mode: 'async', shards: [500, 999] })
    if (answer.kind !== 'server') return
    expect(answer.steps).toBeGreaterThan(0)
    expect(answer.tables.length).toBeGreaterThan(0)
    expect(answer.usedBytes).toBeLessThan(answer.memoryLimitBytes)
    const { out } = await inspect('--server', job.cluster.servers[1]!)
    expect(out).toMatch(/^server\[1\], mode async, [\d,]+ steps\nshards 500 to 999; \d+ dense values\n/)
  })

  test('shows a row with weight, state, owner and last update, whichever server is asked', async () => {
    const key = '18446744073709551615'
    for (const server of job.cluster.servers) {
      const answer = await answerOf('--server', server, '--table', 'ids', '--key', key)
      expect(answer).toMatchObject({
        ...{ kind: 'row', table: 'ids', key },
        owner: { server: 1, endpoint: job.cluster.servers[1], shard: 615, localShard: 115 },
        row: { isStored: true, lastUpdate: { worker: 0, step: expect.any(Number) } },
      })
      const { weight, state, lastUpdate } = (answer as Extract<InspectAnswer, { kind: 'row' }>).row!
      expect(weight).toHaveLength(3)
      expect(Object.entries(state).map(([name, values]) => [name, values.length])).toEqual([
        ['moment1', 3],
        ['moment2', 3],
      ])
      expect(Date.now() - lastUpdate!.at).toBeLessThan(30_000)
    }
    const { out } = await inspect('--server', job.cluster.servers[0]!, '--table', 'ids', '--key', key)
    expect(out).toMatch(/\n {2}moment2: .*\n {2}last update: step [\d,]+, by worker\[0\], \d+\.\d s ago\n$/)
  })

  test('shows what a row that nobody has trained would begin with', async () => {
    const { out } = await inspect('--server', job.cluster.servers[0]!, '--table', 'ids', '--key', '123456')
    expect(out).toContain('not in the table yet; this is what it would begin with')
    expect(out).toContain('last update: never')
  })

  test('shows statistics of a table', async () => {
    const { out } = await inspect('--server', job.cluster.servers[0]!, '--table', 'ids')
    expect(out).toMatch(/^server\[0\]\ntable ids: \d+ rows of dim \d+, /)
    expect(out).toMatch(/weights of \d+ rows: mean \S+, deviation \S+, from \S+ to \S+/)
  })

  test('--hot shows the rows that are pulled most, of all servers, whichever is asked', async () => {
    type Hot = {
      servers: { pulled: number }[]
      tables: { name: string; pulled: number; rows: { key: string; pulls: number; server: number }[] }[]
    }
    const hotOf = async (...args: string[]) => (await answerOf('--hot', '3', ...args)) as unknown as Hot
    for (const [i, server] of job.cluster.servers.entries()) {
      // One row of 256 is counted: it may take some batches more.
      await expect
        .poll(async () => (await hotOf('--server', server)).tables.map(({ rows }) => rows.length), { timeout: 60_000 })
        .toEqual([3, 3])
      const { servers, tables } = await hotOf('--server', server)
      expect(servers).toMatchObject(job.cluster.servers.map((endpoint, rank) => ({ server: rank, endpoint })))
      expect(tables.map(({ name }) => name)).toEqual(['ids', 'wide'])
      for (const { pulled, rows } of tables) {
        expect(rows).toHaveLength(3)
        expect(rows[0]!.pulls).toBeLessThan(pulled)
      }
      expect(
        servers.reduce((sum, { pulled }) => sum + pulled, 0),
        `by server ${i}`,
      ).toBe(tables.reduce((sum, { pulled }) => sum + pulled, 0))
    }
    const one = await hotOf('--server', job.cluster.servers[0]!, '--table', 'ids')
    expect(one.tables.map(({ name }) => name)).toEqual(['ids'])
    const { out } = await inspect('--server', job.cluster.servers[0]!, '--table', 'ids', '--hot')
    expect(out).toMatch(
      /^server\[0\] \S+ +[\d,]+ rows pulled, \S+ %\nserver\[1\] .*\nthe busiest has \d\.\d\d of the mean\ntable ids: [\d,]+ rows pulled, \S+ % of them the \d+ hottest\n {2}\d+ +server\[\d\], shard \d+ {2}about [\d,]+ +pulls/,
    )
  })

  test.each([
    [['--table', 'idz', '--hot'], 'there is no table "idz", the model has'],
    [['--table', 'ids', '--key', '1', '--hot'], '--hot: not with --key'],
    [['--hot', '501'], '--hot: expected a whole number from 1 to 500, got "501"'],
    [['--table', 'idz'], 'there is no table "idz", the model has'],
    [['--table', 'ids', '--key', '-1'], '--key: expected a sign, a whole number from 0 to 2^64 - 1, got "-1"'],
    [['--table', 'ids', '--key', '18446744073709551616'], '--key: expected a sign'],
    [['--key', '1'], '--key: it needs --table'],
    [['--token', 'wrong'], 'its job token differs'],
  ])('%j is refused with the reason', async (args, reason) => {
    const { code, err } = await inspect('--server', job.cluster.servers[0]!, ...args)
    expect(code, err).toBe(2)
    expect(err).toContain(reason)
  })

  test('a server that is not there is named', async () => {
    const { code, err } = await inspect('--server', '127.0.0.1:9')
    expect([code, err]).toEqual([2, expect.stringContaining('server 127.0.0.1:9 could not be reached in 5000 ms')])
  })

  test('the job goes on unharmed, and says who was refused', async () => {
    for (const { name, child } of job.processes) expect(child.exitCode, name).toBe(null)
    const warnings = job.named('server 0').events.filter(({ kind }) => kind === 'warning')
    expect(warnings[0]?.['message']).toMatch(/^A connection was refused: \S+ was refused: its job token differs/)
  })
})

test('--hot of a geo job counts the rows that workers exchange', async () => {
  const geo = [...overrides, 'runner.sync_mode=geo', 'runner.geo_step=5']
  const other = await startJob({ path: join(folder, 'config.yaml'), workers: 1, servers: 1, overrides: geo })
  try {
    await training(other)
    const asked = { server: other.cluster.servers[0]!, token: other.cluster.token, table: 'ids', hot: 3 }
    const found = async () => (await inspectHot(asked)).tables[0]!.rows.length
    await expect.poll(found, { timeout: 60_000 }).toBe(3)
  } finally {
    other.kill()
  }
})

test('in the folder of a fleetrun no token needs to be typed; the file that says it is the user’s alone and ends with the job', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'oarfish-inspect-'))
  const fleetrun = fileURLToPath(new URL('../../bin/fleetrun.js', import.meta.url))
  const tool = ['tools/static_ps_trainer.py', '-m', join(folder, 'config.yaml'), '-o', ...overrides]
  const launcher = spawn(process.execPath, [fleetrun, '--json', '--worker_num=1', '--server_num=1', ...tool], { cwd })
  try {
    let out = ''
    await new Promise<void>((resolve) =>
      launcher.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text
        if (out.includes('batch_id')) resolve()
      }),
    )
    const server = /"role":"server".*?"endpoint":"([^"]+)"/.exec(out)![1]!
    expect((await stat(join(cwd, 'log', 'job.json'))).mode & 0o777).toBe(0o600)
    const { code, err, out: shown } = await oarfish(['inspect', '--server', server], cwd)
    expect([code, err]).toEqual([0, ''])
    expect(shown).toContain('server[0], mode async')
    const ended = new Promise((resolve) => launcher.on('close', resolve))
    launcher.kill('SIGINT')
    await ended
    expect(await readdir(join(cwd, 'log'))).not.toContain('job.json')
  } finally {
    launcher.kill('SIGKILL')
    await rm(cwd, { recursive: true, force: true })
  }
})
