import { describe, expect, it } from 'vitest'
import { sparseTableConfigs } from '../../base/config/index.ts'
import { optimizer } from '../optim/index.ts'
import { checkTableNames, refuseAccessors, tableAccessor } from './accessor-config.ts'
import { parseEntry } from './entry.ts'

const table = { name: 'embedding', dim: 9, init: { kind: 'uniform', low: -1, high: 0.5 } } as const
const adam = optimizer.adam({ learningRate: 0.02, beta1: 0.8 })
const of = (accessor: object) => tableAccessor({ table, optimizer: adam, parameters: { accessor } })

describe('table_parameters', () => {
  it('without an accessor block or an entry a table stays as it is', () => {
    expect(tableAccessor({ table, optimizer: adam, parameters: { shard_num: 10 } })).toBeUndefined()
  })

  it("fills what is left out as Paddle does, and rules follow the model's optimizer", () => {
    expect(of({})).toMatchInlineSnapshot(`
      {
        "accessor": "SparseAccessor",
        "baseThreshold": 0,
        "clickCoeff": 1,
        "deleteAfterUnseenDays": 30,
        "deleteThreshold": 0,
        "deltaKeepDays": 16,
        "deltaThreshold": 0,
        "embed": {
          "beta1": 0.8,
          "beta2": 0.999,
          "bounds": [
            -10,
            10,
          ],
          "epsilon": 1e-8,
          "initialG2sum": 3,
          "initialRange": 0.5,
          "learningRate": 0.02,
          "name": "SparseAdamSGDRule",
        },
        "embedx": {
          "beta1": 0.8,
          "beta2": 0.999,
          "bounds": [
            -10,
            10,
          ],
          "epsilon": 1e-8,
          "initialG2sum": 3,
          "initialRange": 0.5,
          "learningRate": 0.02,
          "name": "SparseAdamSGDRule",
        },
        "embedxDim": 8,
        "embedxThreshold": 0,
        "nonclkCoeff": 0.1,
        "showClickDecayRate": 1,
        "showScale": true,
        "zeroInit": true,
      }
    `)
  })

  it('honours explicit betas', () => {
    const param = {
      name: 'SparseAdamSGDRule',
      adam: { beta1_decay_rate: 0.5, beta2_decay_rate: 0.7, ada_epsilon: 1e-4 },
    }
    expect(of({ embed_sgd_param: param })?.embed).toMatchObject({ beta1: 0.5, beta2: 0.7, epsilon: 1e-4 })
  })

  it.each([
    [{ fea_dim: 9 }, 'The fea_dim is wrong, it will be sparse_embedding_dim + 2: 11, but got 9'],
    [
      { accessor_class: 'CtrCommonAccessor', fea_dim: 11 },
      'The fea_dim is wrong, it will be sparse_embedding_dim: 9, but got 11',
    ],
    [{ fea_dim: 11, embedx_dim: 9 }, 'The embedx_dim is wrong, it will be sparse_embedding_dim - 1: 8, but got 9'],
    [
      { accessor_class: 'CtrDoubleAccessor', embedx_dim: 8 },
      'The embedx_dim is wrong, it will be sparse_embedding_dim - 3: 6, but got 8',
    ],
    [{ accessor_class: 'CtrDymfAccessor' }, 'CtrDymfAccessor needs parameter servers on GPUs'],
  ])('%j: %s', (accessor, message) => {
    expect(() => of(accessor)).toThrow(message)
  })

  it('names the nearest table for one that the model does not have', () => {
    expect(() => checkTableNames({ embeding: {} }, [table])).toThrow(
      expect.objectContaining({ code: 'TABLE_UNKNOWN', hint: 'did you mean embedding?' }),
    )
    expect(() => checkTableNames({ embedding: {} }, [table])).not.toThrow()
  })

  it('geo cannot have accessors or entry policies', () => {
    const entry = parseEntry('count_filter_entry:3')
    expect(() => refuseAccessors([table], { embedding: { shard_num: 10 } })).not.toThrow()
    for (const [tables, parameters] of [
      [[table], { embedding: { accessor: {} } }],
      [[{ ...table, entry }], {}],
    ] as const)
      expect(() => refuseAccessors(tables, parameters)).toThrow(expect.objectContaining({ code: 'TABLE_GEO' }))
  })

  it('sparse_table_configs has the same keys, flat', () => {
    const flat = {
      'table_parameters.embedding.shard_num': 10,
      'table_parameters.embedding.accessor.accessor_class': 'CtrCommonAccessor',
      'table_parameters.embedding.accessor.ctr_accessor_param.click_coeff': 2,
    }
    expect(sparseTableConfigs({ embedding: flat })).toEqual({
      embedding: {
        shard_num: 10,
        accessor: { accessor_class: 'CtrCommonAccessor', ctr_accessor_param: { click_coeff: 2 } },
      },
    })
    expect(() => sparseTableConfigs({ embedding: { 'table_parameters.embedding.shards': 1 } })).toThrow('shards')
  })
})

describe('entry policies', () => {
  it.each([
    ['count_filter_entry:10', { kind: 'count_filter', count: 10 }],
    ['probability_entry:0.25', { kind: 'probability', probability: 0.25 }],
    ['show_click_entry:show:click', { kind: 'show_click', show: 'show', click: 'click' }],
  ])('%s is read', (text, entry) => {
    expect(parseEntry(text)).toEqual(entry)
  })

  it.each([
    ['probability_entry:1', 'probability must be a float in (0,1)'],
    ['count_filter_entry:-1', 'count_filter must be a valid integer greater or equal than 0'],
  ])('%s: %s', (text, message) => {
    expect(() => parseEntry(text)).toThrow(message)
  })

  it('an entry alone makes an accessor table whose rule follows the optimizer', () => {
    const sgd = optimizer.sgd({ learningRate: 1 })
    expect(
      tableAccessor({ table: { ...table, entry: parseEntry('count_filter_entry:3') }, optimizer: sgd }),
    ).toMatchObject({
      admission: { kind: 'count', count: 3 },
      embed: { name: 'SparseNaiveSGDRule', learningRate: 1 },
    })
    const ftrl = optimizer.ftrl()
    expect(() => tableAccessor({ table, optimizer: ftrl, parameters: { accessor: {} } })).toThrow(
      'no sparse rule follows the optimizer ftrl',
    )
  })
})
