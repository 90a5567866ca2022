/** @file What inspect shows of rows: by the optimizer's names, or, where a table has an accessor, by Paddle's. */
import { expect, test } from 'vitest'
import { mean } from '../../src/graph/program/index.ts'
import { optimizer } from '../../src/index.ts'
import { type Feeds, traceModel } from '../../src/model/index.ts'
import * as nn from '../../src/nn.ts'
import { KernelStore, UpdateLog } from '../../src/training/ps/index.ts'
import { inspectStore } from '../../src/training/ps/inspect.ts'
import { denseLayout } from '../../src/weights/params/index.ts'

const SIGN = 42n
const SPEC = optimizer.adagrad({ learningRate: 0.1 })

function openStore(accessor?: object, row_precision?: string) {
  const model = {
    createFeeds: ({ sparse }: Feeds) => ({ ids: sparse('ids') }),
    net({ ids }: { ids: nn.SparseSlot }) {
      const rows = nn.embedding([ids], { name: 'rows', dim: 5 })
      return { loss: mean(nn.linear(rows, { name: 'w', out: 1 })) }
    },
    createOptimizer: () => SPEC,
  }
  const program = traceModel(model as never).train
  const { floats } = denseLayout(program, SPEC)
  const slice = { from: 0, to: floats }
  const tableParameters = { rows: { accessor, row_precision } }
  const store = new KernelStore({ program, optimizer: SPEC, seed: 1, segments: 2, slice, tableParameters } as never)
  const updates = new UpdateLog()
  const push = () => {
    const signs = store.distinctOf(SIGN)
    const pushed = { groups: [signs], tableGroups: [0] }
    store.push({
      ...pushed,
      gradients: [Float32Array.of(1, 2, 3, 4, 5)],
      showClick: [Float32Array.of(7, 1, 0)], // slot, show, click
      dense: new Float32Array(floats),
    })
    updates.note(1, store.steps, pushed)
  }
  const placement = { servers: 1, shards: 1000 }
  const memoryOf = (table: number, sign: bigint) => updates.memoryOf(table, sign)
  const hotOf = () => ({ pulled: 0, rows: [] })
  const inspector = { store, memoryOf, hotOf, mode: 'async', rank: 0, servers: ['a:1'], placement } as const
  const row = async () => {
    const answer = await inspectStore(inspector, { table: 'rows', key: String(SIGN) })
    return answer.kind === 'row' ? answer.row! : undefined
  }
  return { push, row }
}

test('a row of bfloat16 weights is shown as float32, its state as it is', async () => {
  const { push, row } = openStore(undefined, 'bfloat16')
  const before = (await row())!.weight
  push()
  const { weight, state } = (await row())!
  expect(state['moment']).toEqual([1, 4, 9, 16, 25])
  for (const [i, value] of weight.entries()) expect(Math.abs(value - (before[i]! - 0.1))).toBeLessThan(2 ** -7)
})

test('a plain row has its weight and the optimizer’s state by name, and its last update', async () => {
  const { push, row } = openStore()
  expect(await row()).toMatchObject({ isStored: false, state: {} })
  const before = (await row())!.weight
  push()
  const { isStored, weight, state, lastUpdate } = (await row())!
  expect([isStored, Object.keys(state)]).toEqual([true, ['moment']])
  expect(state['moment']).toEqual([1, 4, 9, 16, 25])
  // w -= 0.1 g / sqrt(g^2)
  for (const [i, value] of weight.entries()) expect(value).toBeCloseTo(before[i]! - 0.1, 4)
  expect(lastUpdate).toMatchObject({ step: 1, worker: 1 })
})

test.each(['CtrCommonAccessor', 'CtrDoubleAccessor'])(
  'a row of %s has counts, and embedx only once it was made',
  async (name) => {
    const rule = { name: 'SparseAdaGradSGDRule' }
    const fewer = { accessor_class: name, embed_sgd_param: rule, embedx_sgd_param: rule, embedx_threshold: 0.15 }
    const { push, row } = openStore(fewer)
    push()
    expect(await row()).toMatchObject({ isStored: true, state: { slot: [7], show: [1], click: [0], unseen_days: [0] } })
    expect((await row())!.weight).toHaveLength(1)
    expect((await row())!.state).not.toHaveProperty('embedx state')
    push()
    push()
    const { weight, state } = (await row())!
    expect(state['show']).toEqual([3])
    expect(weight.length).toBeGreaterThan(1)
    expect(state['embed state']).toHaveLength(1)
    expect(state['embedx state']).toHaveLength(1)
  },
)
