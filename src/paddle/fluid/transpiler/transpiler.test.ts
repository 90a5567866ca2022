/** @file Transpiled programs: servers and trainers of one process, over real sockets. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { freeEndpoints } from '../../../../test/ports.testing.ts'
import {
  DatasetFactory,
  DistributeTranspiler,
  DistributeTranspilerConfig,
  Executor,
  initializer,
  layers,
  optimizer,
  ParamAttr,
  Program,
  programGuard,
  type Variable,
} from '../index.ts'
import { clicks, writeParts } from '../job.testing.ts'

const silent = { emit: () => undefined }

interface Built {
  readonly main: Program
  readonly startup: Program
  readonly fetch: Variable
}

/** The gradient of w, which begins at 1, is the mean of what is fed. */
function oneWeight(): Built {
  const [main, startup] = [new Program(), new Program()]
  const fetch = programGuard(main, startup, () => {
    const x = layers.data({ name: 'x', shape: [1] })
    const attr = ParamAttr({ name: 'w', initializer: initializer.Constant({ value: 1 }) })
    const y = layers.fc({ input: x, size: 1, paramAttr: attr, biasAttr: false })
    new optimizer.SGD({ learningRate: 0.1 }).minimize(layers.mean(y))
    return y
  })
  return { main, startup, fetch }
}

/** A weight of 200 x 100, which two servers share, and a table. */
function manyWeights(): Built {
  const [main, startup] = [new Program(), new Program()]
  const fetch = programGuard(main, startup, () => {
    const ids = layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
    const rows = layers.embedding({ input: ids, size: [100, 200], isSparse: true })
    const hidden = layers.fc({ input: layers.sequencePool({ input: rows, poolType: 'sum' }), size: 100, act: 'relu' })
    const loss = layers.mean(layers.fc({ input: hidden, size: 1 }))
    new optimizer.Adam({ learningRate: 0.01, lazyMode: true }).minimize(loss)
    return loss
  })
  return { main, startup, fetch }
}

interface Job {
  readonly build: () => Built
  readonly servers: number
  readonly trainers: number
  readonly syncMode?: boolean
  readonly config?: () => DistributeTranspilerConfig
}

/** Starts the servers; gives transpiled trainers, and waits for the servers' end. */
async function startJob({ build, servers, trainers, syncMode, config }: Job) {
  const endpoints = await freeEndpoints(servers)
  const transpiled = (trainerId: number) => {
    const built = build()
    const t = new DistributeTranspiler(config ? { config: config() } : {})
    const shared = { trainerId, program: built.main, pservers: endpoints.join(','), trainers }
    t.transpile(syncMode === undefined ? shared : { ...shared, syncMode })
    return { t, built }
  }
  const served = endpoints.map(async (endpoint) => {
    const { t } = transpiled(0)
    const exe = new Executor(undefined, silent)
    const [program, startup] = t.getPserverPrograms(endpoint)
    await exe.run(startup)
    await exe.run(program)
  })
  const started = Array.from({ length: trainers }, async (_, trainerId) => {
    const { t, built } = transpiled(trainerId)
    const exe = new Executor(undefined, silent)
    const program = t.getTrainerProgram()
    await exe.run(built.startup)
    return { exe, program, fetch: built.fetch }
  })
  return { trainers: await Promise.all(started), done: Promise.all(served) }
}

/** What trainer 0 computes for x = 1 after both trainers have made one step, and once again so that it sees all of it. */
async function afterOneStep(job: Omit<Job, 'build' | 'servers' | 'trainers'>): Promise<number> {
  const { trainers, done } = await startJob({ ...job, build: oneWeight, servers: 1, trainers: 2 })
  const step = ({ exe, program, fetch }: (typeof trainers)[number], x: number) =>
    exe.run({ program, feed: { x: [[x]] }, fetchList: [fetch] })
  await Promise.all(trainers.map((trainer, i) => step(trainer, [1, 3][i]!)))
  const [first, second] = trainers
  await second!.exe.close()
  await step(first!, 1)
  const [seen] = await step(first!, 1)
  await first!.exe.close()
  await done
  return Number(seen![0])
}

describe('trainers and servers', () => {
  test('sync applies the mean over trainers', async () => {
    // 1 - 0.1 * 2, then a step of trainer 0 alone
    expect(await afterOneStep({})).toBeCloseTo(1 - 0.2 - 0.1, 5)
  })

  test('async applies each gradient as it comes', async () => {
    expect(await afterOneStep({ syncMode: false })).toBeCloseTo(1 - 0.1 - 0.3 - 0.1, 5)
  })

  test('half_async, which a config that is not sync means, does too', async () => {
    const config = () => Object.assign(new DistributeTranspilerConfig(), { syncMode: false })
    expect(await afterOneStep({ syncMode: false, config })).toBeCloseTo(1 - 0.1 - 0.3 - 0.1, 5)
  })

  test('geo trains copies and adds up what changed', async () => {
    const config = () => Object.assign(new DistributeTranspilerConfig(), { geoSgdMode: true, geoSgdNeedPushNums: 1 })
    const { trainers, done } = await startJob({ build: oneWeight, servers: 1, trainers: 2, config })
    const step = ({ exe, program, fetch }: (typeof trainers)[number], x: number) =>
      exe.run({ program, feed: { x: [[x]] }, fetchList: [fetch] })
    await step(trainers[0]!, -4) // 1.4 here, 1.2 on the server
    await step(trainers[1]!, 2) // 0.8 here, -0.1: 1.1 on the server, then 1.0 here
    const [seen] = await step(trainers[1]!, 1)
    expect(Number(seen![0])).toBeCloseTo(1, 5)
    for (const { exe } of trainers) await exe.close()
    await done
  })

  test('weights in blocks on two servers train as weights in one process do', async () => {
    const batches = [
      [[1], [2, 3]],
      [[2], [4]],
      [[1, 5], [3]],
    ]
    const { main, startup, fetch } = manyWeights()
    const local = new Executor(undefined, silent)
    await local.run(startup)
    const expected: number[] = []
    for (const ids of batches)
      expected.push(Number((await local.run({ program: main, feed: { ids }, fetchList: [fetch] }))[0]![0]))
    await local.close()
    const { trainers, done } = await startJob({ build: manyWeights, servers: 2, trainers: 1 })
    const [trainer] = trainers
    const got: number[] = []
    for (const ids of batches) {
      const [loss] = await trainer!.exe.run({ program: trainer!.program, feed: { ids }, fetchList: [trainer!.fetch] })
      got.push(Number(loss![0]))
    }
    await trainer!.exe.close()
    await done
    expect(got).toEqual(expected)
    expect(new Set(got).size).toBe(3)
  })
})

describe('a transpiled program over datasets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-transpiler-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const files = writeParts(folder, 4, 200)
  const build = () => {
    const { main, startup, loss: fetch, vars } = clicks(() => new optimizer.Adagrad({ learningRate: 0.1 }))
    return { main, startup, fetch, vars }
  }

  const geo = () => Object.assign(new DistributeTranspilerConfig(), { geoSgdMode: true, geoSgdNeedPushNums: 5 })
  const jobs = { sync: {}, async: { syncMode: false }, geo: { config: geo } } as const

  test.each(Object.keys(jobs) as (keyof typeof jobs)[])('trains by threads, on two servers, in %s', async (mode) => {
    const { trainers, done } = await startJob({ build, servers: 2, trainers: 2, ...jobs[mode] })
    const passes = trainers.map(async ({ exe, program }, rank) => {
      const dataset = new DatasetFactory().createDataset()
      dataset.setUseVar(['x', 'ids', 'label'].map((name) => program.variable(name)!))
      dataset.setBatchSize(20)
      dataset.setThread(2)
      dataset.setFilelist(files.slice(2 * rank, 2 * rank + 2))
      await exe.trainFromDataset({ program, dataset })
      const { samples, metrics } = await exe.trainFromDataset({ program, dataset })
      await exe.close()
      return { samples, auc: metrics['auc_0']! }
    })
    for (const { samples, auc } of await Promise.all(passes)) {
      expect(samples).toBe(400)
      expect(auc).toBeGreaterThan(0.95)
    }
    await done
  })
})

describe('transpiled programs as text', () => {
  const transpiled = (config?: DistributeTranspilerConfig, syncMode = true) => {
    const { main } = manyWeights()
    const t = new DistributeTranspiler(config ? { config } : {})
    t.transpile({ trainerId: 1, program: main, pservers: 'ps0:6174,ps1:6174', trainers: 2, syncMode })
    return t
  }
  const closing = (program: Program) =>
    String(program)
      .split('\n')
      .filter((line) => !line.startsWith('%') && !line.startsWith('fetch '))

  test('a trainer sends, waits and receives', () => {
    expect(closing(transpiled().getTrainerProgram()).join('\n')).toMatchInlineSnapshot(`
      "distributed_lookup_table(embedding_0.w_0) : ps0:6174, ps1:6174
      send(fc_0.w_0@GRAD.block0.trainer_1, fc_0.w_0@GRAD.block1.trainer_1) : ps0:6174, ps1:6174
      send(fc_0.b_0@GRAD.trainer_1) : ps0:6174
      send(fc_1.w_0@GRAD.trainer_1) : ps1:6174
      send(fc_1.b_0@GRAD.trainer_1) : ps0:6174
      send(embedding_0.w_0@GRAD) : ps0:6174, ps1:6174
      send_barrier() : ps0:6174, ps1:6174
      recv(fc_0.w_0.block0, fc_0.w_0.block1) : ps0:6174, ps1:6174
      recv(fc_0.b_0) : ps0:6174
      recv(fc_1.w_0) : ps1:6174
      recv(fc_1.b_0) : ps0:6174
      fetch_barrier() : ps0:6174, ps1:6174
      concat(fc_0.w_0.block0, fc_0.w_0.block1) -> fc_0.w_0"
    `)
  })

  test('without sync there are no barriers', () => {
    const lines = closing(transpiled(undefined, false).getTrainerProgram())
    expect(lines.some((line) => line.includes('barrier') || line.includes('trainer_'))).toBe(false)
    expect(lines.filter((line) => line.startsWith('send('))).toHaveLength(5)
  })

  test('a server says what it holds and applies', () => {
    expect(String(transpiled().getPserverProgram('ps1:6174'))).toMatchInlineSnapshot(`
      "parameter fc_0.w_0.block1 : float32[100, 100]
      parameter fc_1.w_0 : float32[100, 1]
      table embedding_0.w_0 : float32[-1, 200]
      listen_and_serv(endpoint: ps1:6174, Fanin: 2, pserver_id: 1, distributed_mode: 0)
        sum(fc_0.w_0@GRAD.block1.trainer_0, fc_0.w_0@GRAD.block1.trainer_1) -> fc_0.w_0@GRAD.block1
        scale(fc_0.w_0@GRAD.block1, 0.5)
        adam(fc_0.w_0.block1, fc_0.w_0@GRAD.block1)
        sum(fc_1.w_0@GRAD.trainer_0, fc_1.w_0@GRAD.trainer_1) -> fc_1.w_0@GRAD
        scale(fc_1.w_0@GRAD, 0.5)
        adam(fc_1.w_0, fc_1.w_0@GRAD)
        adam(embedding_0.w_0, embedding_0.w_0@GRAD)"
    `)
  })
})

describe('what cannot be transpiled is refused', () => {
  const pservers = '127.0.0.1:6174'
  const refused = (message: string | RegExp, run: () => unknown) => {
    expect(run).toThrow(expect.objectContaining({ code: 'FLUID_TRANSPILER' }))
    expect(run).toThrow(message)
  }

  test('blocks that are too small', () => {
    const config = Object.assign(new DistributeTranspilerConfig(), { minBlockSize: 4096 })
    const t = new DistributeTranspiler({ config })
    refused('min_block_size is 4096; blocks below 8192', () =>
      t.transpile({ trainerId: 0, program: oneWeight().main, pservers }),
    )
  })

  test('a program without an optimizer', () => {
    const program = new Program()
    refused('the program has no optimizer', () =>
      new DistributeTranspiler().transpile({ trainerId: 0, program, pservers }),
    )
  })

  test('trainers that do not exist, servers that are not listed, calls in the wrong order', () => {
    const t = new DistributeTranspiler()
    refused('getTrainerProgram was called before transpile', () => t.getTrainerProgram())
    refused('trainerId is 2, but there are 2 trainers', () =>
      t.transpile({ trainerId: 2, program: oneWeight().main, pservers, trainers: 2 }),
    )
    t.transpile({ trainerId: 0, program: oneWeight().main, pservers })
    refused('127.0.0.1:6175 is not one of the servers', () => t.getPserverProgram('127.0.0.1:6175'))
  })

  test('settings that exclude each other', () => {
    const config = new DistributeTranspilerConfig()
    refused('runtimeSplitSendRecv does not go with syncMode', () => {
      config.runtimeSplitSendRecv = true
    })
    config.syncMode = false
    config.runtimeSplitSendRecv = true
    refused('syncMode does not go with runtimeSplitSendRecv', () => {
      config.syncMode = true
    })
    refused('syncMode is null', () => {
      config.syncMode = null as never
    })
  })

  test('a server whose startup program was not run, a trainer that is not connected', async () => {
    const { main, fetch } = oneWeight()
    const t = new DistributeTranspiler()
    t.transpile({ trainerId: 0, program: main, pservers })
    const exe = new Executor(undefined, silent)
    await expect(exe.run(t.getPserverProgram(pservers))).rejects.toThrow('its startup program was not run')
    const program = t.getTrainerProgram()
    await expect(exe.run({ program, feed: { x: [[1]] }, fetchList: [fetch] })).rejects.toThrow(
      'not connected to its servers',
    )
    await exe.close()
  })
})
