/** @file BST: a transformer over what a user did and the item at hand, with how long ago each of it was. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, sigmoid, slice, sum, type Tensor, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('SGD', { learning_rate: z.number().positive().default(0.0001) }),
      item_emb_size: z.int().positive().default(96),
      cat_emb_size: z.int().positive().default(96),
      position_emb_size: z.int().positive().default(96),
      n_encoder_layers: z.int().positive().default(1),
      /** The three sizes above together. */
      d_model: z.int().positive().default(288),
      n_head: z.int().positive().default(6),
      /** d_model / n_head, both; kept for PaddleRec's sake. */
      d_key: z.int().positive().default(48),
      d_value: z.int().positive().default(48),
      dropout_rate: z.number().min(0).lt(1).default(0.2),
      /** `n` norms what a part of a layer is given, `''` what it gives. */
      preprocess_cmd: z.enum(['n', '']).default('n'),
      postprocess_cmd: z.enum(['da', 'dan']).default('da'),
      d_inner_hid: z.int().positive().default(512),
      fc_sizes: z.array(z.int().positive()).min(1).default([1024, 512, 256]),
      /** Kept for PaddleRec's sake, as all that follow: rows live in tables of no fixed size. */
      item_count: z.int().positive().default(63_001),
      user_count: z.int().positive().default(192_403),
      cat_count: z.int().positive().default(801),
      position_count: z.int().positive().default(5001),
      prepostprocess_dropout: z.number().min(0).lt(1).default(0.2),
      relu_dropout: z.number().min(0).lt(1).default(0.2),
      act: z.string().default('relu'),
      is_sparse: z.boolean().default(true),
      use_DataLoader: z.boolean().default(true),
      distributed_embedding: z.int().min(0).max(1).default(0),
    })
    .refine((hyper) => hyper.item_emb_size + hyper.cat_emb_size + hyper.position_emb_size === hyper.d_model, {
      path: ['d_model'],
      error: 'expected item_emb_size, cat_emb_size and position_emb_size together',
    })
    .refine(({ d_model, n_head }) => d_model % n_head === 0, {
      path: ['n_head'],
      error: 'expected heads that divide d_model: a head has an equal share of the columns',
    }),

  /** Items with their categories and how long ago they were: the history in order, and one candidate. */
  inputs: ({ sparse, label }) => ({
    label: label('label'),
    user: sparse('userid'),
    history: { item: sparse('history'), category: sparse('cate'), position: sparse('position') },
    target: { item: sparse('target'), category: sparse('target_cate'), position: sparse('target_position') },
  }),

  net({ label, user, history, target }, { d_model: width, n_head: heads, dropout_rate: dropout, ...hyper }) {
    const init = (dim: number) => ({ kind: 'truncated_normal', mean: 0, std: 0.1 / Math.sqrt(dim) }) as const
    const tables = [
      { part: 'item', dim: hyper.item_emb_size },
      { part: 'category', dim: hyper.cat_emb_size },
      { part: 'position', dim: hyper.position_emb_size },
    ] as const
    const seen = tables.map(({ part, dim }) => {
      const options = { name: `history_${part}`, table: part, dim, init: init(dim), length: 'T_history' }
      return nn.sequenceEmbedding(history[part], options)
    })
    const candidate = tables.map(({ part, dim }) =>
      nn.embedding(target[part], { name: `target_${part}`, table: part, dim, init: init(dim) }),
    )
    const mask = seen[0]!.mask // [B, T]
    const sequence = concat(
      [
        unsqueeze(concat(candidate, 1), 1),
        concat(
          seen.map(({ x }) => x),
          2,
        ),
      ],
      1,
    ) // [B, 1 + T, width]: the candidate first
    const there = concat([always(mask), mask], 1)

    const norm = hyper.preprocess_cmd === 'n' ? 'before' : 'after'
    const layer = { width, heads, inner: hyper.d_inner_hid, dropout, norm, activation: 'leaky_relu' } as const
    const layers = Array.from({ length: hyper.n_encoder_layers }, (_, i) =>
      new nn.TransformerLayer(layer).named(`encoder_${i}`),
    )
    const encoded = layers.reduce((x, encoder) => encoder.forward(x, { mask: there }), sequence)
    const normed = norm === 'before' ? nn.layerNorm(encoded, { name: 'norm' }) : encoded

    // The user is one more element; each has a score by the same network, and the logit is their sum.
    const profile = nn.embedding(user, { name: 'user', dim: width, init: init(width) })
    const elements = concat([unsqueeze(profile, 1), normed], 1) // [B, 2 + T, width]
    const scores = nn.mlp(elements, { name: 'fc', sizes: [...hyper.fc_sizes, 1], activation: 'leaky_relu' })
    const counted = mul(scores, unsqueeze(concat([always(mask), there], 1), 2))
    const bias = label.builder.parameter({ name: 'bias', shape: [1], init: { kind: 'zeros' } })
    const logit = add(sum(counted, 1), bias) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer: (hyper) => optimizer.sgd({ learningRate: hyper.optimizer.learning_rate }),
})

/** Ones [B, 1]: for an element that is always there. */
function always(mask: Tensor): Tensor {
  return add(mul(slice(mask, 1, 0, 1), 0), 1)
}
