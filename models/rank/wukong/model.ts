/** @file Wukong: layers that multiply all pairs of vectors and stack, so that each doubles the order of what is seen. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, matmul, mean, mul, reshape, sigmoid, type Tensor, transpose, unsqueeze } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(3).default(27),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    sparse_feature_number: z.int().positive().default(1_000_001),
    sparse_feature_dim: z.int().positive().default(16),
    dense_input_dim: z.int().positive().default(13),
    layer_num: z.int().positive().default(2),
    /** Vectors that a layer makes of products, and of sums. */
    fmb_num: z.int().positive().default(16),
    lcb_num: z.int().positive().default(16),
    /** Columns through which the products of all pairs are seen. */
    rank: z.int().positive().default(8),
    fmb_sizes: z.array(z.int().positive()).default([128]),
    fc_sizes: z.array(z.int().positive()).min(1).default([256, 128]),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, fc_sizes, ...hyper }) {
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim, init }), [-1, slots.length, dim])
    const own = click.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), own)], 1) // [B, slots + dense values, dim]
    const layers = Array.from({ length: hyper.layer_num }, (_, i) => `layer_${i}`)
    const last = layers.reduce((x, name) => wukongLayer(x, name, { dim, ...hyper }), vectors)
    const flat = reshape(last, [-1, (hyper.fmb_num + hyper.lcb_num) * dim])
    const logit = nn.mlp(flat, { name: 'fc', sizes: [...fc_sizes, 1] }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

interface LayerSizes {
  readonly dim: number
  readonly fmb_num: number
  readonly lcb_num: number
  readonly rank: number
  readonly fmb_sizes: readonly number[]
}

/** norm(products and sums of the vectors + the vectors): [B, n, dim] -> [B, fmb_num + lcb_num, dim]. */
function wukongLayer(x: Tensor, name: string, { dim, fmb_num, lcb_num, rank, fmb_sizes }: LayerSizes): Tensor {
  const [count, out] = [Number(x.shape[1]), fmb_num + lcb_num]
  const weight = (part: string, columns: number) =>
    x.builder.parameter({ name: `${name}.${part}`, shape: [count, columns], init: { kind: 'xavier_uniform' } })
  const across = (columns: Tensor) => transpose(matmul(transpose(x), columns)) // [B, columns, dim]
  const pairs = matmul(x, matmul(transpose(x), weight('project', rank))) // X (X' Y): [B, n, rank]
  const normed = nn.layerNorm(reshape(pairs, [-1, count * rank]), { name: `${name}.fm_norm` })
  const sizes = [...fmb_sizes, fmb_num * dim]
  const products = nn.mlp(normed, { name: `${name}.fm`, sizes, lastActivation: 'relu' })
  const both = concat([reshape(products, [-1, fmb_num, dim]), across(weight('compress', lcb_num))], 1)
  const residual = count === out ? x : across(weight('residual', out))
  return nn.layerNorm(add(both, residual), { name: `${name}.norm` })
}
