/** @file Commands that are typed on each host, without a token: every one says so and prints what to set, and none starts where a token is required. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACTOR } from '../cluster/launch.testing.ts'
import { cleanEnv, endOf, type Started, watched } from '../fluid/process.testing.ts'
import { type Network, networkTools, openNetwork } from '../netns/network.testing.ts'
import { freePort } from '../ports.testing.ts'
import { attack } from './attack.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const SET = 'export OARFISH_JOB_TOKEN="$(cat ~/.oarfish-token)"'
const NODE = process.execPath

let folder: string
let port: number
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-routes-'))
  cpSync(at('examples/fit_a_line'), folder, { recursive: true })
  port = await freePort()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SERVERS = () => `127.0.0.1:${port},127.0.0.2:${port}`
const FLUID = { PADDLE_TRAINER_ENDPOINTS: '', PADDLE_TRAINERS_NUM: '2' }
/** Each as one host of two would type it. */
const ROUTES: Readonly<Record<string, () => { args: readonly string[]; env?: NodeJS.ProcessEnv; bin?: string }>> = {
  'fleetrun with lists': () => ({
    bin: 'fleetrun',
    args: [
      `--servers=${SERVERS()}`,
      '--workers=127.0.0.1,127.0.0.2',
      '--log_dir',
      'lists',
      NODE,
      ACTOR,
      'server=env+stay',
    ],
    env: { POD_IP: '127.0.0.1' },
  }),
  'launch --ips': () => ({
    args: ['launch', '--ips=127.0.0.2,127.0.0.3', '--log_dir', 'ips', NODE, ACTOR, 'worker=stay'],
    env: { POD_IP: '127.0.0.2' },
  }),
  'launch --master': () => ({
    args: [
      'launch',
      '--master',
      `127.0.0.1:${port}`,
      '--nnodes',
      '2',
      '--log_dir',
      'master',
      NODE,
      ACTOR,
      'worker=stay',
    ],
  }),
  pserver: () => ({ args: ['pserver', `--port=${port}`, '--num_gradient_servers=2', '--nics=lo'] }),
  'a program with a DistributeTranspiler': () => ({
    args: ['exec', 'fluid_dist.ts'],
    env: { ...FLUID, ...transpilerEnv() },
  }),
}

const transpilerEnv = () => ({
  ...{
    PADDLE_PSERVER_IPS: '127.0.0.1',
    PADDLE_PSERVER_PORT: String(port),
    PADDLE_TRAINERS: '1',
    PADDLE_TRAINER_ID: '0',
  },
  ...{ TRAINING_ROLE: 'TRAINER', PADDLE_TRAINING_ROLE: 'TRAINER', POD_IP: '127.0.0.1' },
})

function start(name: string, extra: NodeJS.ProcessEnv): Started {
  const { args, env, bin = 'oarfish' } = ROUTES[name]!()
  return watched(spawn(NODE, [at(`bin/${bin}.js`), ...args], { cwd: folder, env: { ...cleanEnv(), ...env, ...extra } }))
}

describe.each(Object.keys(ROUTES))('%s, without a token', (name) => {
  test('says so and prints the line to set', async () => {
    const started = start(name, {})
    try {
      await started.said(SET)
      expect(started.out + started.err).toContain('OARFISH_JOB_TOKEN is not set')
    } finally {
      await end(started)
    }
  })

  test('does not start where OARFISH_REQUIRE_TOKEN=1', async () => {
    const started = start(name, { OARFISH_REQUIRE_TOKEN: '1' })
    try {
      await started.said('OARFISH_JOB_TOKEN is not set') // refused or only warned: one that starts then waits for the other host
      expect(started.out + started.err).toContain('is not set, and OARFISH_REQUIRE_TOKEN=1 asks for it')
      expect(await endOf(started)).toBe(2)
    } finally {
      await end(started)
    }
  })
})

test('a launcher that knows the hosts names them to its processes', async () => {
  const started = start('fleetrun with lists', {})
  try {
    const log = join(folder, 'lists', 'serverlog.0')
    await expect.poll(() => readFileSync(log, { encoding: 'utf8', flag: 'a+' }), { timeout: 60_000 }).toContain('\n{')
    const line = readFileSync(log, 'utf8')
      .split('\n')
      .find((text) => text.startsWith('{'))!
    expect(JSON.parse(line)).toMatchObject({ OARFISH_JOB_HOSTS: '127.0.0.1,127.0.0.2' })
  } finally {
    await end(started)
  }
})

const lacking = networkTools()
describe.skipIf(lacking !== undefined)('netns: with OARFISH_JOB_HOSTS', () => {
  let network: Network
  beforeAll(async () => {
    network = await openNetwork({ name: 'routes', hosts: 3 })
  })
  afterAll(() => network?.close())

  test('a master lets in the hosts that are named, and tells others no', async () => {
    const [one, two, outside] = network.hosts
    const master = `${one!.address}:7311`
    const env = { ...cleanEnv(), OARFISH_JOB_HOSTS: `${one!.address},${two!.address}` }
    const join = (host: typeof one & object, name: string) => {
      const flags = ['--master', master, '--nnodes', '2', '--nproc_per_node', '1', '--log_dir', name]
      const child: ChildProcess = host.spawn(
        NODE,
        [at('bin/oarfish.js'), 'launch', ...flags, NODE, ACTOR, 'worker=brief'],
        {
          ...{ cwd: folder, env },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      )
      return watched(child)
    }
    const first = join(one!, 'first')
    await first.said('Copy the following command')
    const { heard } = await attack('join', master, {
      spawnOn: outside!.spawn.bind(outside),
      knows: { master, jobId: 'default', nnodes: '2' },
    })
    expect(heard).toContain('"no":true')
    expect(heard).not.toContain('"proof"')
    const second = join(two!, 'second')
    expect([await endOf(first), await endOf(second)], first.out + first.err + second.err).toEqual([0, 0])
    expect(first.out + first.err).toContain('the job does not name its address')
  })
})

async function end(started: Started): Promise<void> {
  started.child.kill('SIGTERM')
  await endOf(started, 20_000)
}
