/** @file What a configuration's calls become, and what wrong ones are called. */
import { expect, test } from 'vitest'
import { optimizer } from '../../weights/optim/index.ts'
import { ConfigUnderWay, describing } from './config-scope.ts'
import * as layers from './layers.ts'
import { traceConfig } from './load-config.ts'
import { integerValue, integerValueSequence, provider, sparseBinaryVector } from './provider.ts'
import { defineDataSources, getConfigArg, settings } from './settings.ts'

const { classificationCost, concatLayer, cosSim, dataLayer, embeddingLayer, fcLayer, outputs, poolingLayer } = layers
const { regressionCost, textConvPool, addtoLayer } = layers

function described(body: () => void, args: Readonly<Record<string, string>> = {}): ConfigUnderWay {
  const config = new ConfigUnderWay(args)
  describing(config, body)
  return config
}

const ids = (name: string, size = 10) => embeddingLayer({ input: dataLayer({ name, size }), size: 4 })
const towers = () => {
  settings({ batchSize: 16, learningMethod: optimizer.rmsprop() })
  const title = textConvPool({ input: ids('title'), contextLen: 5, hiddenSize: 4 })
  const movie = fcLayer({ input: [fcLayer({ input: ids('movie'), size: 4 }), title], size: 4 })
  const user = fcLayer({ input: dataLayer({ name: 'flags', size: 3 }), size: 4 })
  outputs(regressionCost({ input: cosSim({ a: movie, b: user }), label: dataLayer({ name: 'rating', size: 1 }) }))
}

test('a network becomes slots by how its data is used, tables, and weights with the names of the original', () => {
  const { model } = traceConfig(described(towers))
  expect(model.slots).toEqual([
    { kind: 'sparse', name: 'title' },
    { kind: 'sparse', name: 'movie' },
    { kind: 'dense', name: 'flags', width: 3, dtype: 'float32' },
    { kind: 'dense', name: 'rating', width: 1, dtype: 'float32' },
  ])
  expect(model.train.tables.map(({ name, dim }) => [name, dim])).toEqual([
    ['___embedding_0__.w0', 4],
    ['___embedding_1__.w0', 4],
  ])
  expect(model.train.parameters.map(({ name }) => name)).toContain('___fc_layer_1__.w1')
  expect(model.metrics.map(({ name }) => name)).toEqual(['cost'])
})

test('the rate is for the sum over all samples of a step', () => {
  const constants = (nodes: number) =>
    traceConfig(described(towers), nodes).model.train.nodes.flatMap(({ op }) =>
      op.kind === 'constant' ? op.values : [],
    )
  const [alone, four] = [constants(1), constants(4)]
  expect([alone.includes(16), alone.includes(64)]).toEqual([true, false])
  expect([four.includes(16), four.includes(64)]).toEqual([false, true])
})

test('a class, sums, and inputs side by side', () => {
  const config = described(() => {
    settings({ batchSize: 2 })
    const [a, b] = [
      fcLayer({ input: ids('a'), size: 4, act: null }),
      poolingLayer({ input: ids('b'), poolingType: 'average' }),
    ]
    const joined = concatLayer({ input: [a, addtoLayer({ input: [a, b], act: 'relu' })] })
    outputs(
      classificationCost({
        input: fcLayer({ input: joined, size: 3, act: null }),
        label: dataLayer({ name: 'c', size: 3 }),
      }),
    )
  })
  expect(traceConfig(config).model.slots.at(-1)).toEqual({ kind: 'dense', name: 'c', width: 1, dtype: 'int64' })
})

const process = provider<object, object>({
  init(own) {
    own.inputTypes = { title: integerValueSequence(10), movie: integerValue(10), flags: sparseBinaryVector(3) }
  },
})(function* () {})

test.each<[string, () => void]>([
  ['There are two data layers "x".', () => [dataLayer({ name: 'x', size: 1 }), dataLayer({ name: 'x', size: 1 })]],
  ['data layer "x": size must be a whole number from 1 on, got 0.', () => dataLayer({ name: 'x', size: 0 })],
  [
    '"__fc_layer_0__" is no data layer',
    () => embeddingLayer({ input: fcLayer({ input: ids('x'), size: 2 }), size: 2 }),
  ],
  ['fc layer "__fc_layer_0__" has no input.', () => fcLayer({ input: [], size: 2 })],
  [
    '"__cos_sim_0__": "__fc_layer_0__" has 2 columns, "__fc_layer_1__" 3.',
    () => cosSim({ a: fcLayer({ input: ids('x'), size: 2 }), b: fcLayer({ input: ids('y'), size: 3 }) }),
  ],
  ['is no sequence.', () => poolingLayer({ input: fcLayer({ input: ids('x'), size: 2 }) })],
  [
    'data layer "x" is used as an id and also as numbers.',
    () => {
      const x = dataLayer({ name: 'x', size: 4 })
      fcLayer({ input: [embeddingLayer({ input: x, size: 2 }), x], size: 2 })
    },
  ],
  ['numbers may have 65536', () => fcLayer({ input: dataLayer({ name: 'x', size: 100_000 }), size: 2 })],
  [
    'the label must be a data layer of 2 classes',
    () =>
      classificationCost({ input: fcLayer({ input: ids('x'), size: 2 }), label: dataLayer({ name: 'c', size: 3 }) }),
  ],
  ['outputs() was given nothing.', () => outputs()],
  ['settings() was called twice.', () => [settings({ batchSize: 1 }), settings({ batchSize: 1 })]],
  ['learningRate must be a number above 0, got -1.', () => settings({ batchSize: 1, learningRate: -1 })],
  ['regularization.l2 must be a number above 0, got 0.', () => settings({ batchSize: 1, regularization: { l2: 0 } })],
  [
    'learningMethod is "adam", which is no optimizer.',
    () => settings({ batchSize: 1, learningMethod: 'adam' as never }),
  ],
  ['cache is "ram", which is none.', () => provider({ cache: 'ram' as never })],
  [
    'defineDataSources() was called twice.',
    () => [defineDataSources('a', 'b', process), defineDataSources('a', 'b', process)],
  ],
  ['--config_args: size must be a number, got "big".', () => getConfigArg('size', 3)],
])('%s', (message, body) => {
  expect(() => described(body, { size: 'big' })).toThrow(message)
})

test.each([
  ['declares no type for the data layer "rating"', () => towers()],
  [
    '"title" is integerValueSequence(10) by the provider, and the layers take it as an id.',
    () => {
      settings({ batchSize: 1 })
      outputs(
        regressionCost({
          input: fcLayer({ input: ids('title'), size: 1 }),
          label: fcLayer({ input: ids('movie'), size: 1 }),
        }),
      )
    },
  ],
  [
    '"movie" is integerValue(10) by the provider, and its data layer has the size 11.',
    () => {
      settings({ batchSize: 1 })
      outputs(
        regressionCost({
          input: fcLayer({ input: ids('movie', 11), size: 1 }),
          label: fcLayer({ input: dataLayer({ name: 'flags', size: 3 }), size: 1 }),
        }),
      )
    },
  ],
])('%s', (message, body) => {
  const config = () =>
    traceConfig(
      described(() => {
        body()
        defineDataSources('a', 'b', process)
      }),
    )
  expect(config).toThrow(message)
})

test('arguments of the command line have the kind of their defaults', () => {
  const args = { a: '3', b: 'true', c: 'text' }
  described(() => {
    expect([getConfigArg('a', 1), getConfigArg('b', false), getConfigArg('c', ''), getConfigArg('d', 7)]).toEqual([
      3,
      true,
      'text',
      7,
    ])
  }, args)
})

test('calls outside a configuration say so', () => {
  expect(() => settings({ batchSize: 1 })).toThrow('settings() was called outside a trainer_config.ts.')
})
