/** @file AFM: a factorization machine whose pairs are weighted by attention. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, matmul, mean, mul, reshape, sigmoid, softmax, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(10),
    dense_input_dim: z.int().positive().default(13),
    attention_size: z.int().positive().default(8),
    /** After the pooling of pairs. */
    dropout_rate: z.number().min(0).lt(1).default(0.5),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, attention_size: size, dropout_rate }) {
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const own = click.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), own)], 1) // [B, slots + dense values, dim]
    const products = nn.pairProducts(vectors) // [B, pairs, dim]
    const hidden = nn.linear(products, { name: 'attention', out: size, activation: 'relu' })
    const scorer = click.builder.parameter({
      name: 'attention_out',
      shape: [size, 1],
      init: { kind: 'xavier_uniform' },
    })
    const pooled = sum(mul(softmax(matmul(hidden, scorer), 1), products), 1) // [B, dim]
    const second = nn.linear(nn.dropout(pooled, { name: 'dropout', rate: dropout_rate }), {
      name: 'out',
      out: 1,
      biasInit: false,
    })
    const logit = add(firstOrder(slots, dense), second) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** A weight for each sign and each dense value: [B, 1]. */
function firstOrder(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
  const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1 })
  return add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1 }))
}
