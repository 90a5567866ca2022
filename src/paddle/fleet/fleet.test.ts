import { expect, test } from 'vitest'
import type { Cluster } from '../../base/env/index.ts'
import type { Event } from '../../base/event/index.ts'
import type { Feeds } from '../../index.ts'
import { traceModel } from '../../model/index.ts'
import * as nn from '../../nn.ts'
import { mean, type Tensor } from '../../nn.ts'
import { type OptimizerSpec, optimizer } from '../../weights/optim/index.ts'
import { Fleet } from './fleet.ts'
import { PaddleCloudRoleMaker, Role, UserDefinedRoleMaker } from './role-maker.ts'
import { StrategyFactory } from './strategy.ts'
import type { FleetRegistry } from './training-program.ts'
import { FleetUtil } from './util.ts'

const SERVERS = ['10.0.0.1:7000', '10.0.0.2:7000']
const JOB = {
  PADDLE_PSERVERS_IP_PORT_LIST: SERVERS.join(','),
  PADDLE_TRAINER_ENDPOINTS: '10.0.0.3:7001,10.0.0.3:7002,10.0.0.4:7001',
  PADDLE_TRAINERS_NUM: '3',
}
const WORKER = { ...JOB, TRAINING_ROLE: 'TRAINER', PADDLE_TRAINER_ID: '1', POD_IP: '10.0.0.3', PADDLE_PORT: '7002' }
const SERVER = { ...JOB, TRAINING_ROLE: 'PSERVER', POD_IP: '10.0.0.2', PADDLE_PORT: '7000' }

function fleetOf(env: Record<string, string>) {
  const events: Event[] = []
  const fleet = new Fleet({ emit: (event) => events.push(event) })
  fleet.init(new PaddleCloudRoleMaker({ env }))
  return { fleet, events }
}

test('a worker knows who it is', () => {
  const { fleet } = fleetOf(WORKER)
  expect([fleet.isWorker(), fleet.isServer(), fleet.isFirstWorker()]).toEqual([true, false, false])
  expect([fleet.workerIndex(), fleet.workerNum(), fleet.serverNum(), fleet.nodeNum()]).toEqual([1, 3, 2, 2])
  expect(fleet.serverEndpoints()).toEqual(SERVERS)
  expect(fleet.workerEndpoints()).toEqual(['10.0.0.3:7001', '10.0.0.3:7002', '10.0.0.4:7001'])
})

test('a server knows who it is', () => {
  const { fleet } = fleetOf(SERVER)
  expect([fleet.isServer(), fleet.isWorker(), fleet.serverIndex()]).toEqual([true, false, 1])
})

test('a program may say itself who it is', () => {
  const fleet = new Fleet()
  const serverEndpoints = SERVERS
  fleet.init(new UserDefinedRoleMaker({ currentId: 0, role: Role.WORKER, workerNum: 2, serverEndpoints, env: {} }))
  expect([fleet.isFirstWorker(), fleet.workerNum(), fleet.serverNum()]).toEqual([true, 2, 2])
})

test.each([
  [{ serverEndpoints: [] }, 'the length of server_endpoints list must be greater than 0'],
  [{ serverEndpoints: ['a:1', 'a:1'] }, "server_endpoints can't have duplicate elements"],
  [{ role: 7 }, 'role must be as Role'],
  [{ currentId: -1 }, 'current_id must be greater than or equal to 0'],
  [{ workerNum: 0 }, 'worker_num must be greater than 0'],
])('a program that says %o of itself is refused', (own, message) => {
  const usual = { currentId: 0, role: Role.WORKER, workerNum: 1, serverEndpoints: SERVERS, env: {} }
  expect(() => new Fleet().init(new UserDefinedRoleMaker({ ...usual, ...own } as never))).toThrow(message)
})

test.each([
  [2, 0, ['a', 'b', 'c']],
  [2, 1, ['d', 'e']],
])('of 5 files, over %i workers, worker %i reads %o', (workerNum, currentId, expected) => {
  const fleet = new Fleet()
  fleet.init(new UserDefinedRoleMaker({ currentId, role: Role.WORKER, workerNum, serverEndpoints: SERVERS, env: {} }))
  expect(fleet.util.getFileShard(['a', 'b', 'c', 'd', 'e'])).toEqual(expected)
  expect(fleet.splitFiles(['a', 'b', 'c', 'd', 'e'])).toEqual(expected)
})

test('a worker beyond the files reads nothing', () => {
  const { fleet } = fleetOf({ ...WORKER, PADDLE_TRAINER_ID: '2' })
  expect(fleet.util.getFileShard(['a', 'b'])).toEqual([])
  expect(() => fleet.util.getFileShard('a' as never)).toThrow('files should be a list of file need to be read.')
})

test('a job of one process has nothing to connect, and says so', async () => {
  const { fleet, events } = fleetOf({})
  expect([fleet.isWorker(), fleet.isServer(), fleet.isFirstWorker(), fleet.workerNum()]).toEqual([true, false, true, 1])
  await fleet.initWorker()
  await fleet.savePersistables({ dirname: 'nowhere' })
  expect(events).toEqual(
    ['initWorker', 'savePersistables'].map((call) => ({
      kind: 'warning',
      message: `${call}() function doesn't work when use non_distributed fleet.`,
    })),
  )
  expect(await fleet.util.allReduce([1, 2])).toEqual([1, 2])
  expect(await fleet.util.allGather('x')).toEqual(['x'])
})

test.each([
  ['no base64 of numbers', 'AAAA'],
  ['no text', 7],
])('what another worker brings to allReduce as %s is refused', async (_, text) => {
  const util = new FleetUtil(() => ({
    cluster: { role: 'worker' } as Cluster,
    allGatherJson: async (_call, own) => [own, text],
    warn: () => undefined,
  }))
  await expect(util.allReduce(1)).rejects.toThrow('allReduce: worker[1] brought no numbers')
})

test('a plain optimizer is wrapped as what a model may return', () => {
  const { fleet } = fleetOf(WORKER)
  const strategy = StrategyFactory.createSyncStrategy()
  const sgd = optimizer.sgd({ learningRate: 0.5 })
  expect(fleet.distributedOptimizer(sgd, strategy)).toEqual({ dense: sgd, tables: {}, strategy })
  expect(fleet.distributedOptimizer({ dense: sgd, tables: { t: sgd } })).toMatchObject({ tables: { t: sgd } })
})

test('a model whose createOptimizer returns the wrapper is traced with the optimizer in it', () => {
  const { fleet } = fleetOf(WORKER)
  const sgd = optimizer.sgd({ learningRate: 0.5 })
  const traced = traceModel({
    createFeeds: ({ dense }: Feeds) => dense('x', 2),
    net: (x: Tensor) => ({ loss: mean(nn.linear(x, { name: 'out', out: 1 })) }),
    createOptimizer: () => fleet.distributedOptimizer(sgd, StrategyFactory.createSyncStrategy()),
  } as never)
  expect([traced.optimizer, traced.tableOptimizers]).toEqual([sgd, {}])
})

const register = (fleet: Fleet) => {
  const minimizer = { distributed: (registry: FleetRegistry) => registry }
  const train = { feeds: [], rows: [], tables: [], parameters: [], state: [], nodes: [], fetches: [] }
  const model = {
    train,
    infer: train,
    slots: [],
    metrics: [],
    outputs: [],
    optimizer: optimizer.sgd(),
    tableOptimizers: {},
  }
  return fleet.distributedOptimizer(minimizer).register({ model, seed: 1 })
}

test.each([
  ['before init', () => new Fleet().isServer(), 'FLEET_INIT'],
  ['with a role that is none', () => new Fleet().init({} as never), 'FLEET_ROLE'],
  ['for collective training', () => new Fleet().init(undefined, { isCollective: true }), 'FLEET_COLLECTIVE'],
  ['without an optimizer', () => fleetOf(WORKER).fleet.distributedOptimizer(undefined as never), 'FLEET_OPTIMIZER'],
  ['with something else', () => fleetOf(WORKER).fleet.distributedOptimizer({} as OptimizerSpec), 'FLEET_OPTIMIZER'],
  ['for its worker before initWorker', () => register(fleetOf(WORKER).fleet).worker, 'FLEET_NOT_CONNECTED'],
])('a call %s is refused', (_, call, code) => {
  expect(call).toThrow(expect.objectContaining({ code }))
})

const NO_HANDLER = 'Fleet can not find suitable runtime handler'
test.each([
  ['runServer', SERVER, NO_HANDLER],
  ['initServer', SERVER, NO_HANDLER],
  ['initWorker', WORKER, NO_HANDLER],
  ['barrierWorker', WORKER, 'not connected'],
] as const)('%s before minimize is refused', async (call, env, message) => {
  await expect(fleetOf(env).fleet[call]()).rejects.toThrow(message)
})

test.each([
  ['runServer', WORKER, 'if (fleet.isServer()) { await fleet.runServer() }'],
  ['initWorker', SERVER, 'if (fleet.isWorker()) { await fleet.initWorker() }'],
] as const)('%s in the wrong role is refused', async (call, env, hint) => {
  const { fleet } = fleetOf(env)
  register(fleet)
  await expect(fleet[call]()).rejects.toMatchObject({ code: 'FLEET_ROLE', hint: expect.stringContaining(hint) })
})
