/** @file Fleet programs as processes under the launcher: batches fed by hand in every mode, and programs that go wrong. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noneAlive, run } from '../cluster/launch.testing.ts'
import { expectWithin } from '../within.testing.ts'

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-fleet-programs-'))
})
afterAll(() => rm(cwd, { recursive: true, force: true }))

/** A program whose workers do `work`; what is trained learns the parity of an id. */
const program = (strategy: string, work: string) => `
import { DistributedStrategy, fleet, StrategyFactory } from 'oarfish/fleet'
import * as fluid from 'oarfish/fluid'
fleet.init()
const ids = fluid.layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
const click = fluid.layers.data({ name: 'click', shape: [1], dtype: 'int64' })
const rows = fluid.layers.embedding({ input: ids, size: [100, 4], isSparse: true })
const pooled = fluid.layers.sequencePool({ input: rows, poolType: 'sum' })
const predict = fluid.layers.fc({ input: pooled, size: 2, act: 'softmax' })
const loss = fluid.layers.mean(fluid.layers.crossEntropy({ input: predict, label: click }))
const sgd = new fluid.optimizer.SGD({ learningRate: 0.5 })
fleet.distributedOptimizer(sgd, ${strategy}).minimize(loss)
const feed = (first: number) => {
  const numbers = Array.from({ length: 16 }, (_, i) => first + i)
  return { ids: numbers.map((id) => [id % 50]), click: numbers.map((id) => [id % 2]) }
}
if (fleet.isServer()) {
  await fleet.initServer()
  await fleet.runServer()
} else {
  await fleet.initWorker()
  const exe = new fluid.Executor(fluid.CPUPlace())
  await exe.run(fluid.defaultStartupProgram())
  ${work}
}
`

async function launch(text: string) {
  await writeFile(join(cwd, 'program.ts'), text)
  await rm(join(cwd, 'logs'), { recursive: true, force: true })
  const args = ['launch_ps', '--worker_num', '2', '--server_num', '2', '--start_port', '26230', 'program.ts']
  const ran = await run('oarfish', args, { cwd, timeoutMs: 200_000 })
  const names = await readdir(join(cwd, 'logs'))
  const logs = await Promise.all(names.map(async (name) => [name, await readFile(join(cwd, 'logs', name), 'utf8')]))
  expect(await noneAlive(ran.mark)).toEqual([])
  return { ...ran, logs: Object.fromEntries(logs) as Record<string, string> }
}

test.each([
  'StrategyFactory.createSyncStrategy()',
  'new DistributedStrategy({ aSync: true })',
  'StrategyFactory.createHalfAsyncStrategy()',
  'StrategyFactory.createGeoStrategy(3)',
])('batches that workers feed by hand train with %s', async (strategy) => {
  const { code, out, err, logs } = await launch(
    program(
      strategy,
      `
  const losses = []
  // Worker 1 has fewer batches: in sync the others go on without it.
  for (let i = 0; i < (fleet.isFirstWorker() ? 120 : 90); i++) {
    const [value] = await exe.run({ feed: feed(7 * i + 3 * fleet.workerIndex()), fetchList: [loss] })
    losses.push(value[0])
  }
  console.log('losses', losses[0], losses.at(-1))
  await exe.close()
  await fleet.stopWorker()`,
    ),
  )
  expect(code, out + err + JSON.stringify(logs)).toBe(0)
  const losses = ['workerlog.0', 'workerlog.1'].map((name) => /losses ([\d.]+) ([\d.]+)/.exec(logs[name]!)!.map(Number))
  // A worker that comes late finds what the other has trained.
  expect(Math.max(...losses.map(([, first]) => first!))).toBeCloseTo(Math.LN2, 0)
  for (const [, , last] of losses) expect(last).toBeLessThan(0.45)
})

test('workers may end without stopWorker, by themselves or by process.exit', async () => {
  const { code, out, err, logs } = await launch(
    program(
      'new DistributedStrategy({ aSync: true })',
      `
  for (let i = 0; i < 5; i++) await exe.run({ feed: feed(i), fetchList: [loss] })
  if (fleet.isFirstWorker()) process.exit(0)`,
    ),
  )
  expect(code, out + err + JSON.stringify(logs)).toBe(0)
})

test('a worker that fails is named by everyone, and the job ends with its failure', async () => {
  const { code, out, logs } = await launch(
    program(
      'new DistributedStrategy({ aSync: true })',
      `
  for (let i = 0; ; i++) {
    await exe.run({ feed: feed(i), fetchList: [loss] })
    if (i === 20 && fleet.workerIndex() === 1) throw new Error('my own mistake')
  }`,
    ),
  )
  expect(code).not.toBe(0)
  expect(out).toContain('worker 1')
  expect(logs['workerlog.1']).toContain('my own mistake')
  expect(logs['serverlog.0']! + logs['serverlog.1']!).toContain('worker[1]')
})

test('a save that only worker 0 calls ends the job and says who is missing', async () => {
  const { code, logs, seconds } = await launch(
    program(
      'new DistributedStrategy({ aSync: true })',
      `
  await exe.run({ feed: feed(0), fetchList: [loss] })
  if (fleet.isFirstWorker()) await fleet.savePersistables({ dirname: 'saved' })
  await fleet.stopWorker()`,
    ),
  )
  expect(code).not.toBe(0)
  expect(logs['workerlog.0']).toContain('savePersistables(saved): not all workers take part')
  expect(logs['workerlog.0']).toContain('worker[1] has left')
  await expectWithin(1000 * seconds, 80_000)
})

test('a server that runs before minimize is told what is missing', async () => {
  const { code, logs } = await launch(`
    import { fleet } from 'oarfish/fleet'
    fleet.init()
    if (fleet.isServer()) await fleet.runServer()
    else await new Promise((done) => setTimeout(done, 60_000))`)
  expect(code).toBe(2)
  const text = Object.values(logs).join('')
  expect(text).toContain('Fleet can not find suitable runtime handler: fleet.runServer() was called before minimize()')
})
