/** @file FLEN: fields in groups (user, item, context); pairs inside a group and of whole groups are pooled apart. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, reshape, sigmoid, split, stack, sum, type Tensor } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(9),
    dense_input_dim: z.int().positive().default(13),
    /** Slots of each group, in order; together all of them. Those of `oarfish data avazu` are [5, 10, 8]. */
    group_sizes: z.array(z.int().positive()).min(2).default([9, 9, 8]),
    fc_sizes: z.array(z.int().positive()).min(1).default([400, 400, 400]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, group_sizes, fc_sizes }) {
    const rows = nn.embedding(slots, { name: 'embedding', dim })
    const groups = split(reshape(rows, [-1, slots.length, dim]), group_sizes, 1)
    const sums = stack(
      groups.map((group) => sum(group, 1)),
      1,
    ) // [B, groups, dim]
    const pairs = nn.pairProducts(sums)
    const inside = stack(groups.map(nn.biInteraction), 1) // [B, groups, dim]
    const pooled = add(weighted(pairs, 'between'), weighted(inside, 'within')) // [B, dim]
    const wise = nn.linear(concat([firstOrder(slots, dense), pooled], 1), {
      name: 'pooling',
      out: dim + 1,
      activation: 'relu',
    })
    const deep = nn.mlp(concat([rows, dense], 1), { name: 'fc', sizes: fc_sizes, lastActivation: 'relu' })
    const logit = nn.linear(concat([wise, deep], 1), { name: 'out', out: 1 }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** The sum of vectors, each times a learned number: [B, n, d] -> [B, d]. */
function weighted(vectors: Tensor, name: string): Tensor {
  const count = Number(vectors.shape[1])
  const weights = vectors.builder.parameter({ name, shape: [count], init: { kind: 'constant', value: 1 } })
  return sum(mul(vectors, reshape(weights, [count, 1])), 1)
}

/** A weight for each sign and each dense value: [B, 1]. */
function firstOrder(slots: readonly nn.SparseSlot[], dense: Tensor): Tensor {
  const weights = nn.embedding(slots, { name: 'embedding_one', dim: 1 })
  return add(sum(weights, 1, true), nn.linear(dense, { name: 'dense_one', out: 1 }))
}
