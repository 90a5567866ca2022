/** @file The network of the recommendation demo: two towers of features, the cosine between them, the square error of the rating. */
import { readFileSync } from 'node:fs'
import { optimizer } from 'oarfish'
import {
  cosSim,
  dataLayer,
  defineDataSources,
  embeddingLayer,
  fcLayer,
  getConfigArg,
  type LayerOutput,
  outputs,
  regressionCost,
  settings,
  textConvPool,
} from 'oarfish/trainer'
import type { Feature, Meta } from './common_utils.ts'
import { process } from './dataprovider.ts'

const isPredict = getConfigArg('is_predict', false)
// Of each node: with four nodes --config_args=batch_size=400 makes the same steps as 1600 on one.
const batchSize = getConfigArg('batch_size', 1600)
const size = getConfigArg('size', 256)
const meta = JSON.parse(readFileSync('data/meta.json', 'utf8')) as Meta

settings({ batchSize, learningRate: 1e-3, learningMethod: optimizer.rmsprop() })

const LAYERS: Readonly<Record<Feature['type'], (feature: Feature) => LayerOutput>> = {
  id: ({ name, dim }) => fcLayer({ input: embeddingLayer({ input: dataLayer({ name, size: dim }), size }), size }),
  embedding: ({ name, dim, seq }) => {
    const embedding = embeddingLayer({ input: dataLayer({ name, size: dim }), size })
    return seq === 'sequence'
      ? textConvPool({ input: embedding, contextLen: 5, hiddenSize: size })
      : fcLayer({ input: embedding, size })
  },
  one_hot_dense: ({ name, dim }) => fcLayer({ input: fcLayer({ input: dataLayer({ name, size: dim }), size }), size }),
}

function constructFeature(name: 'movie' | 'user'): LayerOutput {
  const fusion = meta[name].features.map((feature) => LAYERS[feature.type](feature))
  return fcLayer({ name: `${name}_fusion`, input: fusion, size })
}

const similarity = cosSim({ name: 'similarity', a: constructFeature('movie'), b: constructFeature('user') })
if (isPredict) outputs(similarity)
else {
  outputs(regressionCost({ input: similarity, label: dataLayer({ name: 'rating', size: 1 }) }))
  defineDataSources('data/train.list', 'data/test.list', process, { meta })
}
