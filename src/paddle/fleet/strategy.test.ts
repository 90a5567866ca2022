import { expect, test } from 'vitest'
import { type Feeds, optimizer } from '../../index.ts'
import { traceModel } from '../../model/index.ts'
import * as nn from '../../nn.ts'
import { concat, mean, type Tensor } from '../../nn.ts'
import type { OptimizerSpec } from '../../weights/optim/index.ts'
import { estimatedBytes, type Strategy, settleStrategy } from './settle-strategy.ts'
import { communicatorFlags, DistributedStrategy, StrategyFactory } from './strategy.ts'
import type { TrainingProgram } from './training-program.ts'

const GIGABYTE = 2 ** 30

function program(own: OptimizerSpec = optimizer.sgd(), rows = 1000): TrainingProgram {
  const model = traceModel({
    createFeeds: ({ label, sparse, dense }: Feeds) => ({ click: label('click'), id: sparse('id'), x: dense('x', 2) }),
    net: ({ click, id, x }: { click: Tensor; id: nn.SparseSlot; x: Tensor }) => {
      const logit = nn.linear(concat([nn.embedding(id, { name: 'table', dim: 3 }), x], 1), { name: 'out', out: 1 })
      return { loss: mean(nn.sigmoidCrossEntropy(logit, click)) }
    },
    createOptimizer: () => own,
  } as never)
  return { model, seed: 1, tableRows: { table: rows } }
}

const settled = (strategy?: Strategy, own = program(), freeBytes = GIGABYTE) => {
  const { mode, geoStep } = settleStrategy(strategy, own, { freeBytes })
  return mode === 'geo' ? `${mode} ${geoStep}` : mode
}

test.each([
  ['nothing', undefined, 'async'],
  ['aSync false', new DistributedStrategy({ aSync: false }), 'sync'],
  ['aSync true', new DistributedStrategy({ aSync: true }), 'async'],
  ['kSteps above 0', new DistributedStrategy({ aSync: true, aSyncConfigs: { kSteps: 10 } }), 'geo 10'],
  ['kSteps 0', new DistributedStrategy({ aSyncConfigs: { kSteps: 0 } }), 'async'],
  ['the factory: sync', StrategyFactory.createSyncStrategy(), 'sync'],
  ['the factory: async', StrategyFactory.createAsyncStrategy(), 'async'],
  ['the factory: half_async', StrategyFactory.createHalfAsyncStrategy(), 'half_async'],
  ['the factory: geo', StrategyFactory.createGeoStrategy(), 'geo 100'],
  ['the factory: geo every 7', StrategyFactory.createGeoStrategy(7), 'geo 7'],
])('the mode by %s', (_, strategy, mode) => {
  expect(settled(strategy)).toBe(mode)
})

test.each([
  [{ syncMode: true }, 'sync'],
  [{ syncMode: false }, 'half_async'],
  [{ syncMode: false, runtimeSplitSendRecv: true }, 'async'],
  [{ syncMode: false, runtimeSplitSendRecv: true, halfAsync: true }, 'half_async'],
  [{ syncMode: false, runtimeSplitSendRecv: true, geoSgdMode: true, geoSgdNeedPushNums: 50 }, 'geo 50'],
])('a DistributeTranspilerConfig with %o means %s', (fields, mode) => {
  const usual = { runtimeSplitSendRecv: false, halfAsync: false, geoSgdMode: false, geoSgdNeedPushNums: 100 }
  expect(settled({ ...usual, ...fields })).toBe(mode)
})

test('a strategy that sets nothing chooses by itself: geo for sgd where a copy of the model fits, else async', () => {
  const auto = new DistributedStrategy()
  expect(settled(auto)).toBe('geo 800')
  expect(settled(auto, program(optimizer.adam()))).toBe('async')
  expect(settled(auto, program(optimizer.sgd(), 100_000_000))).toBe('async')
  expect(settled(auto, program(optimizer.sgd(), 100_000_000), 8 * GIGABYTE)).toBe('geo 800')
  expect(settleStrategy(auto, program(optimizer.adam())).reason).toBe('the optimizer is adam, not sgd')
})

test('memory is reckoned as 5 copies of all weights and the activations of 1024 samples', () => {
  const dense = 5 + 1 // the weight [5, 1] and its bias
  const few = estimatedBytes(program(optimizer.sgd(), 0))
  expect(estimatedBytes(program(optimizer.sgd(), 10)) - few).toBe(4 * 5 * 10 * 3)
  const activations = (few - 4 * 5 * dense) / 4
  expect(activations).toBeGreaterThan(0)
  expect(activations % 1024).toBeLessThan(100) // scalars and gradients of weights have no batch
})

test('setting aSync, to whatever, means that the mode is no longer chosen by itself', () => {
  const strategy = new DistributedStrategy()
  expect(strategy.aSyncConfigs.kSteps).toBe(-1)
  strategy.aSyncConfigs = { kSteps: 100 }
  strategy.aSync = true
  expect(strategy.aSyncConfigs.kSteps).toBe(0)
})

test('keys of a_sync_configs may be spelled as in Python', () => {
  const strategy = new DistributedStrategy()
  strategy.aSyncConfigs = { k_steps: 3, send_queue_size: 20 } as never
  expect(strategy.aSyncConfigs).toMatchObject({ kSteps: 3, sendQueueSize: 20, maxMergeVarNum: 1 })
})

const set = (configs: object) => () => new DistributedStrategy({ aSyncConfigs: configs })
test.each([
  ['key:k_step not in a_sync_configs', 'did you mean kSteps', set({ k_step: 1 })],
  ['key:zzz not in a_sync_configs', 'the keys are kSteps', set({ zzz: 1 })],
  ['kSteps is "many", expected a whole number', '', set({ kSteps: 'many' })],
  ['kSteps is 0.5, expected a whole number', '', set({ kSteps: 0.5 })],
  ['launchBarrier is 1, expected a boolean', '', set({ launchBarrier: 1 })],
  ['usePsGpu 1 is not part', 'static_gpubox_trainer', set({ usePsGpu: 1 })],
  ['expected type is bool', 'strategy.aSync = true', () => new DistributedStrategy({ aSync: 1 as never })],
  [
    'a_sync is False and k_steps 100, which is no mode',
    'sync: aSync = false',
    () => settled(new DistributedStrategy({ aSync: false, aSyncConfigs: { kSteps: 100 } })),
  ],
  ['k_steps -7, which is no mode', '', () => settled(new DistributedStrategy({ aSyncConfigs: { kSteps: -7 } }))],
  ['is no strategy', 'pass a DistributedStrategy', () => settled({} as never)],
  ['update_frequency is 0', '', () => StrategyFactory.createGeoStrategy(0)],
])('a wrong strategy is refused: %s', (message, hint, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'FLEET_STRATEGY',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    }),
  )
})

test('the communicator of async without CPU_NUM counts everything as 1, that of geo by its steps', () => {
  const async = communicatorFlags(StrategyFactory.createAsyncStrategy())
  expect(async).toEqual({
    communicator_max_merge_var_num: '1',
    communicator_send_queue_size: '1',
    communicator_send_wait_times: '5',
    communicator_thread_pool_size: '5',
    communicator_independent_recv_thread: '1',
    communicator_min_send_grad_num_before_recv: '1',
    communicator_is_sgd_optimizer: '1',
  })
  expect(communicatorFlags(StrategyFactory.createGeoStrategy(400), { cpuNum: 8 })).toEqual({
    communicator_max_merge_var_num: '400',
    communicator_send_queue_size: '400',
    communicator_send_wait_times: '5',
    communicator_thread_pool_size: '5',
  })
})

test('sync and half_async force merging to CPU_NUM and say so', () => {
  const warnings: string[] = []
  const env = { FLAGS_communicator_max_merge_var_num: '20', FLAGS_communicator_send_wait_times: '9' }
  const options = { cpuNum: 2, env, onWarning: (message: string) => warnings.push(message) }
  expect(communicatorFlags(StrategyFactory.createHalfAsyncStrategy(), options)).toMatchObject({
    communicator_max_merge_var_num: '2',
    communicator_send_wait_times: '9',
  })
  expect(warnings).toEqual([
    'WARNING: In sync or half_async mode, communicator_max_merge_var_num must be equal to CPU_NUM. communicator_max_merge_var_num will be forced to 2.',
  ])
})
