/** @file TDM: whether a user will like something below a node of a tree of items, so that the best of many are found from the root down. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, mul, sigmoid, sub, sum } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', {
      learning_rate: z.number().positive().default(0.001),
      lazy_mode: z.literal(true).default(true),
    }),
    node_emb_size: z.int().positive().default(24),
    /** Items of a history that are read; tdm_reader.ts keeps the last ones. */
    item_nums: z.int().positive().default(69),
    /** Hidden layers of the attention over a history, and on top. */
    att_sizes: z.array(z.int().positive()).min(1).default([36]),
    fc_sizes: z.array(z.int().positive()).min(1).default([128, 64, 24]),
    /** Of tdm_reader.ts: a file of the tree, from which layer on nodes are drawn, and how many in each. */
    tree_path: z.string().default('data/tree.txt'),
    start_sample_layer: z.int().positive().default(1),
    tdm_layer_counts: z.array(z.int().min(0)).min(1).default([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    /** Items that a search gives. */
    topk: z.int().positive().default(100),
  },

  /** Leaves of what the user took, in order, and a node. */
  inputs: ({ sparse, label }) => ({ user: sparse('user'), node: sparse('unit_id'), label: label('label') }),

  net({ user, node, label }, { node_emb_size: dim, att_sizes: sizes, fc_sizes }) {
    const nodes = { table: 'node', dim }
    const { x: taken, mask } = nn.sequenceEmbedding(user, { name: 'user', ...nodes })
    const vector = nn.embedding(node, { name: 'unit', ...nodes }) // [B, dim]
    const interest = new nn.AttentionUnit({ width: dim, sizes }).named('attention').forward(vector, taken, mask)
    const product = mul(interest, vector)
    const pair = concat([interest, vector, product, sub(interest, vector), sum(product, 1, true)], 1)
    const hidden = fc_sizes.reduce(
      (x, out, i) => nn.prelu(nn.linear(x, { name: `fc.${i}`, out }), { name: `fc.${i}` }),
      pair,
    )
    const logit = nn.linear(hidden, { name: 'logit', out: 1 })
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, label)),
      outputs: { predict: sigmoid(logit), node_vector: vector },
    }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
