/** @file Collective launches with real processes: variables, meeting at a master, failures, restarts. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { reachableAddress } from '../../src/base/net/index.ts'
import { freePorts } from '../ports.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { ACTOR, alive, eventsOf, ofKind, run } from './launch.testing.ts'

const RANK = fileURLToPath(new URL('../collective/rank.mjs', import.meta.url))

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-launch-'))
})
afterEach(() => rm(cwd, { recursive: true, force: true }))

const PROGRAM = [process.execPath, ACTOR]
const logOf = async (name: string, folder = 'log') => await readFile(join(cwd, folder, name), 'utf8')
const envOf = async (name: string, folder = 'log') => JSON.parse((await logOf(name, folder)).split('\n')[1]!)

test('ranks of one host know each other, and find their group by what they are told', async () => {
  const args = ['launch', '--gpus', '0,1', '--json', process.execPath, RANK, '{"work":"cases"}']
  const { code, out, mark } = await run('oarfish', args, { cwd })
  const text = (await logOf('workerlog.0')) + (await logOf('workerlog.1'))
  expect(code, text + out).toBe(0)
  expect(alive(mark)).toEqual([])
  expect(ofKind(eventsOf({ out }), 'notice').map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^No device was found: --gpus 0,1 starts 2 processes on the CPU\. Looked for /),
  )
  expect(text).toContain('ring of 2 over shared memory')
  expect(await logOf('endpoints.log')).toMatch(/^PADDLE_TRAINER_ENDPOINTS: \n127\.0\.0\.1:\d+\n127\.0\.0\.1:\d+$/)
})

test('hosts meet at the master, which prints the command for the others', async () => {
  const [port] = await freePorts(1)
  const master = `127.0.0.1:${port}`
  const node = (name: string, ...more: string[]) =>
    run(
      'oarfish',
      ['launch', '--master', master, '--nnodes', '2', '--nproc_per_node', '2', '--log_dir', name, ...more],
      {
        cwd,
      },
    )
  const [first, second] = await Promise.all([
    node('one', '--rank', '0', ...PROGRAM, 'worker=env+brief'),
    node('two', '--rank', '1', ...PROGRAM, 'worker=env+brief'),
  ])
  expect([first.code, second.code], first.out + first.err + second.out + second.err).toEqual([0, 0])
  expect(first.out).toContain('Copy the following command to other nodes to run.')
  expect(first.out).toContain(`oarfish launch --master ${master} --nnodes 2 --nproc_per_node 2 `)
  const [own, other] = [await envOf('workerlog.0', 'one'), await envOf('workerlog.1', 'two')]
  expect(own).toMatchObject({ PADDLE_TRAINER_ID: '0', PADDLE_NNODES: '2', PADDLE_TRAINERS_NUM: '4' })
  expect(other).toMatchObject({ PADDLE_TRAINER_ID: '3', PADDLE_LOCAL_RANK: '1' })
  expect(other.PADDLE_TRAINER_ENDPOINTS).toBe(own.PADDLE_TRAINER_ENDPOINTS)
  expect(other.OARFISH_JOB_TOKEN).toBe(own.OARFISH_JOB_TOKEN)
})

test.skipIf(reachableAddress() === '127.0.0.1')(
  'a master that nobody named is one that other hosts can reach',
  async () => {
    const args = ['launch', '--nnodes', '1:2', '--elastic_timeout', '1', '--nproc_per_node', '1']
    const { code, out, err } = await run('oarfish', [...args, ...PROGRAM, 'worker=env+brief'], { cwd })
    expect(code, out + err).toBe(0)
    expect(out).toContain(` --master ${reachableAddress()}:`)
  },
)

test('a rank that fails stops all within 5 seconds, with its last lines and its exit code', async () => {
  const args = ['launch', '--nproc_per_node', '2', '--json', ...PROGRAM, 'worker.0=stay', 'worker.1=fail']
  const { code, out, mark, seconds } = await run('oarfish', args, { cwd })
  expect(code).toBe(3)
  await expectWithin(1000 * seconds, 8000)
  expect(alive(mark)).toEqual([])
  const [error] = ofKind(eventsOf({ out }), 'error')
  expect(error).toMatchObject({ code: 'LAUNCH_PROCESS_FAILED', hint: expect.stringContaining('this is why') })
})

test.each<[string[], RegExp]>([
  [['--ips=203.0.113.7,203.0.113.8'], /^None of the endpoints is of this host: 203\.0\.113\.7, 203\.0\.113\.8\./],
  [['--ips=127.0.0.1,203.0.113.8'], /^127\.0\.0\.1 in ips is not allowed in multi-nodes/],
  [['--require_device'], /^--require_device: no device was found/],
  [
    ['--elastic_server=10.0.0.1:2379', '--np=2'],
    /^Elastic jobs with a rendezvous at an etcd server are not in this build/,
  ],
])('%j is refused with exit code 2 before anything starts', async (args, message) => {
  const { code, err } = await run('oarfish', ['launch', ...args, ACTOR], { cwd })
  expect(code).toBe(2)
  expect(err).toMatch(message)
})

const ELASTIC = fileURLToPath(new URL('../fixtures/launch/elastic.mjs', import.meta.url))

/** Launchers of an elastic job at one master; `wanted`: the number of ranks with which it ends, and whether only after a new start. */
async function elasticNode(master: string, name: string, wanted: string, rank: string, onRunning = () => {}) {
  const flags = ['--master', master, '--nnodes', '1:3', '--elastic_timeout', '1', '--log_dir', name, '--json']
  const onOutput = (all: string) => {
    if (all.includes('"state":"running"')) onRunning()
  }
  const args = ['launch', ...flags, '--rank', rank, process.execPath, ELASTIC, ...wanted.split(' ')]
  return await run('oarfish', args, { cwd, onOutput })
}

test('an elastic job starts with the hosts that came, and again when another comes', async () => {
  const master = `127.0.0.1:${(await freePorts(1))[0]}`
  let second: ReturnType<typeof elasticNode> | undefined
  const first = await elasticNode(master, 'one', '2', '0', () => {
    second ??= elasticNode(master, 'two', '2', '1')
  })
  const ended = [first, await second!]
  expect(
    ended.map(({ code }) => code),
    ended.map(({ out, err }) => out + err).join('\n'),
  ).toEqual([0, 0])
  expect(await logOf('workerlog.0', 'one')).toContain('rank 0 of 2, resume 1')
  expect(await logOf('workerlog.0', 'two')).toContain('rank 1 of 2')
  expect(ended[0]!.out).toContain('127.0.0.1 has come: all ranks stop at a cut.')
  expect(ended[0]!.out).toContain('Going on from the last cut with 2 of 1:3 hosts, 2 ranks.')
})

test('an elastic job goes on with those who stay when a host goes', async () => {
  const master = `127.0.0.1:${(await freePorts(1))[0]}`
  // The second host may come late: then the first has begun without it, and they start again with it.
  const first = elasticNode(master, 'one', '1 again', '0')
  let killed = false
  const second = run(
    'oarfish',
    [
      ...['launch', '--master', master, '--nnodes', '1:3', '--elastic_timeout', '2', '--log_dir', 'two', '--json'],
      ...['--rank', '1', process.execPath, ELASTIC, '1', 'again'],
    ],
    {
      cwd,
      onOutput: (all, launcher) => {
        if (killed || !all.includes('"state":"running"')) return
        killed = true
        launcher.kill('SIGKILL')
      },
    },
  )
  const [{ code, out }] = await Promise.all([first, second])
  expect(code, out).toBe(0)
  expect(await logOf('workerlog.0', 'one')).toContain('rank 0 of 1, resume 1')
  expect(out).toMatch(/127\.0\.0\.1 is gone .*: all ranks stop\./)
})
