/** @file Processes of a job that fail, die or are missing before it has begun: the others say who, within seconds. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type JobOptions, openWorkspace, type StartedJob, startJob, type Workspace } from './job.testing.ts'

/** To start, under load; what is tested against is the 5 minutes that they would wait for each other. */
const SOON_MS = 120_000

let workspace: Workspace
let job: StartedJob | undefined
beforeAll(() => {
  workspace = openWorkspace()
  writeFileSync(join(workspace.folder, 'busy.ts'), 'await new Promise((go) => setTimeout(go, 600_000))\n')
})
afterEach(() => job?.kill())
afterAll(() => workspace.remove())

const SMALL = ['--config_args=size=8,batch_size=60', '--num_passes=1', '--dot_period=0', '--log_period=0']
const run = async (options: Omit<JobOptions, 'cwd'>) => {
  job = await startJob({ cwd: workspace.folder, ...options })
  return job
}
/** Trainer 1 has a configuration of its own. */
const second = (config: string) => (i: number) => [...SMALL, ...(i === 1 ? [`--config=${config}`] : [])]

test('a trainer that cannot load its configuration ends the others with its reason', async () => {
  const { ended, trainers, servers } = await run({ trainers: 2, servers: 2, options: second('nothing.ts') })
  expect(await within(ended())).toEqual([2, 2, 2, 2])
  const reason = /trainer\[1\] \S+ ended before the job had begun: There is no configuration nothing\.ts\./
  for (const { err } of [trainers[0]!, ...servers]) expect(err).toMatch(reason)
})

test('a trainer that comes when the job has failed already hears why', async () => {
  const { ended, trainers, servers } = await run({ trainers: 2, servers: 2, options: second('nothing.ts') })
  trainers[0]!.child.kill('SIGSTOP')
  await within(Promise.all(servers.map((server) => server.said('trainer 0 may come within'))))
  trainers[0]!.child.kill('SIGCONT')
  expect(await within(ended())).toEqual([2, 2, 2, 2])
  expect(trainers[0]!.err).toMatch(/trainer\[1\] \S+ ended before the job had begun/)
})

test('a trainer that is killed while it loads its configuration is named by the others', async () => {
  const { all, trainers, servers } = await run({ trainers: 2, servers: 1, options: second('busy.ts') })
  await within(trainers[0]!.said('Waiting for trainer 1, still at its configuration.'))
  trainers[1]!.child.kill('SIGKILL')
  await within(Promise.all(all.map(({ ended }) => ended)))
  for (const { err } of [trainers[0]!, ...servers]) expect(err).toMatch(/trainer\[1\] \S+ is gone/)
})

test('a server that is killed before all trainers have come is named by those that have', async () => {
  const { trainers, servers } = await run({ trainers: 2, servers: 2, options: second('busy.ts') })
  await within(trainers[0]!.said('Waiting for trainer 1'))
  servers[1]!.child.kill('SIGKILL')
  await within(Promise.all([trainers[0]!.ended, servers[0]!.ended]))
  expect(trainers[0]!.err).toMatch(/server 127\.0\.0\.1:\d+ is gone/)
  expect(servers[0]!.err).toMatch(/server 127\.0\.0\.1:\d+ is gone/)
})

test('a trainer of another number of trainers ends the job', async () => {
  const { trainers, servers, ended } = await run({
    trainers: 1,
    servers: 1,
    options: [...SMALL, '--num_gradient_servers=3'],
  })
  expect(await within(ended())).toEqual([2, 2])
  expect(trainers[0]!.err).toContain('refused this process: it expects 3 trainers, this job has 1')
  expect(servers[0]!.err).toMatch(/trainer\[0\] \S+ expects 3 trainers, this job has 1\./)
})

test('a trainer that never comes is named to those that wait', async () => {
  const { trainers } = await run({
    trainers: 2,
    servers: 1,
    options: (i) => (i === 1 ? ['--no_such_option=1'] : SMALL),
  })
  await within(trainers[0]!.said('Waiting for trainer 1 to come.'))
})

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`nothing happened in ${SOON_MS} ms: ${text()}`)), SOON_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const text = () => job?.all.map(({ out, err }) => `${out}${err}`).join('\n---\n')
