/** @file Jobs of several trainers and servers on this host: the same learning as one process, and an end whatever happens. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePorts } from '../ports.testing.ts'
import {
  type JobOptions,
  openWorkspace,
  type StartedJob,
  start,
  startJob,
  testCosts,
  type Workspace,
} from './job.testing.ts'

// Eight processes at a time, each of which loads onnxruntime.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const small = (batch: number) => [`--config_args=size=8,batch_size=${batch}`, '--dot_period=0', '--log_period=0']

describe('jobs over the sample', () => {
  let workspace: Workspace
  let job: StartedJob | undefined
  beforeAll(() => {
    workspace = openWorkspace()
  })
  afterEach(() => job?.kill())
  afterAll(() => workspace.remove())
  const run = async (options: Omit<JobOptions, 'cwd'>) => {
    job = await startJob({ cwd: workspace.folder, ...options })
    return job
  }

  test('four trainers with a quarter of the batch learn what one does; each rating is read once a pass', async () => {
    // As on hosts: only node 0 has a folder to save to.
    const options = (i: number) => [...small(60), '--num_passes=3', ...(i === 0 ? ['--save_dir=output'] : [])]
    const { trainers, servers, ended } = await run({ trainers: 4, servers: 4, ports: 2, sparsePorts: 1, options })
    expect(await ended(), trainers.map(({ err }) => err).join()).toEqual(new Array(8).fill(0))
    const dealt = 'train.list: all 4 trainers have the same 16 files: they are dealt out'
    for (const { out } of trainers) {
      expect(out).toContain(dealt)
      expect(out.match(/ Pass=\d samples=4320 /g)).toHaveLength(3)
      expect(testCosts(out)).toEqual(testCosts(trainers[0]!.out))
    }
    // Node 0 saves, and servers keep a log of their own.
    expect(trainers.map(({ out }) => out.includes('Saving parameters'))).toEqual([true, false, false, false])
    expect(existsSync(join(workspace.folder, 'output/pass-00002/manifest.json'))).toBe(true)
    expect(readFileSync(join(workspace.folder, 'log/server-3/paddle_pserver2.INFO'), 'utf8')).toBe(servers[3]!.out)
    const alone = start('trainer', [...small(240), '--num_passes=3', '--log_dir=log/alone'], workspace.folder)
    expect(await alone.ended).toBe(0)
    // The steps have the same samples: only the order of additions differs.
    for (const [pass, cost] of testCosts(alone.out).entries())
      expect(testCosts(trainers[0]!.out)[pass]).toBeCloseTo(cost, 3)
  })

  test('however weights lie on ports, and whether there are servers, a trainer makes the same steps', async () => {
    const options = [...small(240), '--num_passes=2']
    const costs: (readonly number[])[] = []
    for (const [ports, sparsePorts, threads] of [
      [1, 0, 1],
      [2, 2, 1],
      [1, 1, 2],
    ] as const) {
      const more = [...options, `--trainer_count=${threads}`]
      const { trainers, ended } = await run({ trainers: 1, servers: 2, ports, sparsePorts, options: more })
      expect(await ended()).toEqual([0, 0, 0])
      costs.push(testCosts(trainers[0]!.out))
    }
    const alone = start('trainer', [...options, '--log_dir=log/alone'], workspace.folder)
    expect(await alone.ended).toBe(0)
    for (const found of costs) {
      for (const [pass, cost] of testCosts(alone.out).entries()) expect(found[pass]).toBeCloseTo(cost, 3)
    }
  })

  test('lists that differ are each trainer’s own', async () => {
    const other = openWorkspace()
    try {
      const list = join(other.folder, 'data/train.list')
      writeFileSync(list, readFileSync(list, 'utf8').split('\n').slice(0, 2).join('\n'))
      const cwd = (i: number) => (i === 0 ? workspace.folder : other.folder)
      const { trainers, ended } = await run({
        trainers: 2,
        servers: 1,
        options: [...small(120), '--num_passes=1'],
        ...{ cwd },
      })
      expect(await ended()).toEqual([0, 0, 0])
      expect(trainers[1]!.out).toContain('each reads all of its own, trainer[1] has 2.')
      expect(trainers[0]!.out).toContain(' Pass=0 samples=4860 ')
    } finally {
      other.remove()
    }
  })

  test.each(['trainer', 'server'] as const)(
    'a %s that is killed ends the whole job, which says who is gone',
    async (role) => {
      const { trainers, servers, all } = await run({
        trainers: 2,
        servers: 2,
        options: [...small(60), '--num_passes=500'],
      })
      await Promise.all(trainers.map((trainer) => trainer.said('Pass=0')))
      const victim = role === 'trainer' ? trainers[1]! : servers[1]!
      victim.child.kill('SIGKILL')
      const others = all.filter((one) => one !== victim)
      for (const code of await Promise.all(others.map(({ ended }) => ended))) expect(code).not.toBe(0)
      expect(trainers[0]!.err).toMatch(role === 'trainer' ? /worker\[1\]/ : /server\[1\]/)
    },
  )

  test('trainers that train something else than the others are found before anything is trained', async () => {
    const options = (i: number) => [`--config_args=size=${8 + i},batch_size=120`, '--num_passes=1']
    const { trainers, servers, ended } = await run({ trainers: 2, servers: 1, options })
    expect(await ended()).toEqual([2, 2, 2])
    for (const { err } of [...trainers, ...servers])
      expect(err).toContain('trainer[1] and trainer[0] differ in the network.')
  })

  test('a signal to all trainers ends the job in good order', async () => {
    const { trainers, servers } = await run({ trainers: 2, servers: 1, options: [...small(120), '--num_passes=500'] })
    await Promise.all(trainers.map((trainer) => trainer.said('Pass=0')))
    for (const { child } of trainers) child.kill('SIGINT')
    expect(await Promise.all(trainers.map(({ ended }) => ended))).toEqual([130, 130])
    expect(await servers[0]!.ended).toBe(0)
  })
})

describe('a server that cannot begin', () => {
  const folder = openWorkspace()
  afterAll(() => folder.remove())

  test('its port is taken', async () => {
    const [port] = await freePorts(1)
    const taken = createServer().listen(port, '127.0.0.1')
    const server = start('pserver', [`--port=${port}`, '--nics=lo'], folder.folder)
    expect(await server.ended).toBe(2)
    expect(server.err).toContain(`The server cannot listen at 127.0.0.1:${port}`)
    taken.close()
  })

  test('the interface does not exist', async () => {
    const server = start('pserver', ['--nics=eth99'], folder.folder)
    expect(await server.ended).toBe(2)
    expect(server.err).toContain('--nics=eth99: this host has no network interface of that name')
  })

  test('the numbers of ports differ', async () => {
    const [port] = await freePorts(1)
    const server = start('pserver', [`--port=${port}`, '--nics=lo', '--ports_num=2'], folder.folder)
    const trainer = start('trainer', [...small(240), `--pservers=127.0.0.1:${port}`, '--log_dir=log/t'], folder.folder)
    expect(await trainer.ended).toBe(2)
    expect(trainer.err).toContain('number of ports')
    server.child.kill('SIGTERM')
    expect(await server.ended).not.toBe(0)
  })
})
