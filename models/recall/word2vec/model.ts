/** @file word2vec, skip-gram: a word's vector says which words stand near it, and which, drawn at random, do not. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, cast, greater, matmul, max, mean, mul, reshape, sum, type Tensor, transpose, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('SGD', {
      learning_rate: z.number().positive().default(1),
      /** The rate is multiplied by decay_rate every decay_steps, smoothly. */
      decay_steps: z.int().positive().default(100_000),
      decay_rate: z.number().positive().max(1).default(0.999),
    }),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1000),
    sparse_feature_dim: z.int().positive().default(300),
    /** Draws negatives from the batch instead of the slot neg_label. */
    with_shuffle_batch: z.boolean().default(false),
    neg_num: z.int().positive().default(5),
    /** How far word2vec_reader.ts looks to either side. */
    window_size: z.int().positive().default(5),
  },

  inputs: ({ sparse }, { with_shuffle_batch }) => ({
    word: sparse('input_word'),
    near: sparse('true_label'),
    negative: with_shuffle_batch ? undefined : sparse('neg_label'),
  }),

  /** `hit` is how often the near word scores above all drawn ones. */
  net({ word, near, negative }, { sparse_feature_dim: dim, neg_num: length }) {
    const init = { kind: 'constant', value: 0 } as const
    const [weights, biases] = [
      { table: 'emb_w', dim, init },
      { table: 'emb_b', dim: 1, init },
    ]
    const vector = nn.embedding(word, { name: 'emb', dim, init: { kind: 'uniform', low: -0.5 / dim, high: 0.5 / dim } })
    const weight = nn.embedding(near, { name: 'true_w', ...weights })
    const bias = nn.embedding(near, { name: 'true_b', ...biases })
    const drawn = negative
      ? {
          weight: nn.sequenceEmbedding(negative, { name: 'neg_w', ...weights, length }).x,
          bias: nn.sequenceEmbedding(negative, { name: 'neg_b', ...biases, length }).x,
        }
      : fromBatch(weight, bias, length)
    const products = matmul(unsqueeze(vector, 1), transpose(drawn.weight)) // [B, 1, negatives]
    const flat = (x: Tensor) => reshape(x, [-1, length])
    const positives = add(sum(mul(vector, weight), 1, true), bias) // [B, 1]
    const negatives = add(flat(products), flat(drawn.bias)) // [B, negatives]
    return {
      loss: nn.negativeSampling(positives, negatives),
      hit: mean(cast(greater(positives, max(negatives, 1, true)), 'float32')),
      outputs: { vector },
      vectors: { item: { id: word, vector } },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer({ optimizer: { learning_rate: learningRate, decay_rate: gamma, decay_steps: every } }) {
    return optimizer.sgd({ learningRate, schedule: { kind: 'exponential', gamma, every } })
  },
})

/** Near words of other samples, which are drawn as often as they are near. */
function fromBatch(weight: Tensor, bias: Tensor, samples: number): { readonly weight: Tensor; readonly bias: Tensor } {
  const positions = nn.drawFromBatch(weight, { name: 'negatives', samples })
  return { weight: nn.takeFromBatch(weight, positions), bias: nn.takeFromBatch(bias, positions) }
}
