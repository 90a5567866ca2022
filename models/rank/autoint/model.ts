/** @file AutoInt: which features act together is found by self-attention over the fields. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, mean, mul, relu, reshape, sigmoid, sum, type Tensor, unsqueeze } from 'oarfish/nn'

const hyperParameters = z
  .strictObject({
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake, as use_sparse: a table here has no fixed number of rows. */
    feature_number: z.int().positive().default(1_000_001),
    embedding_dim: z.int().positive().default(16),
    /** A deep network beside the attention; none where this is empty. */
    fc_sizes: z.array(z.int().positive()).default([]),
    use_residual: z.boolean().default(true),
    /** Divides products by the square root of a head's columns. */
    scaling: z.boolean().default(true),
    /** A weight a feature beside the attention. */
    use_wide: z.boolean().default(true),
    use_sparse: z.boolean().default(true),
    head_num: z.int().positive().default(2),
    num_field: z.int().min(2).default(39),
    /** Columns of all heads together, layer by layer. */
    attn_layer_sizes: z.array(z.int().positive()).min(1).default([64, 64, 64]),
    distributed_embedding: z.int().min(0).max(1).default(0),
  })
  .refine(({ attn_layer_sizes, head_num }) => attn_layer_sizes.every((size) => size % head_num === 0), {
    path: ['attn_layer_sizes'],
    error: 'expected sizes that head_num divides: a head has an equal share of the columns',
  })

export default defineModel({
  hyperParameters,

  /** Each field is a feature and its value: 1, or the number itself. */
  inputs: ({ label, sparse, dense }, { num_field }) => ({
    click: label('label'),
    features: sparse('feat_index'),
    values: dense('feat_value', num_field),
  }),

  net({ click, features, values }, { embedding_dim: dim, num_field: length, ...hyper }) {
    const rows = nn.sequenceEmbedding(features, { name: 'embedding', dim, length, init: normal(0.01) }).x
    const vectors = mul(rows, unsqueeze(values, 2)) // [B, fields, dim]
    const attended = hyper.attn_layer_sizes.reduce(
      (x, out, i) => interact(x, { out, name: `attention_${i}`, hyper }),
      vectors,
    )
    const score = nn.linear(reshape(attended, [-1, length * hyper.attn_layer_sizes.at(-1)!]), { name: 'fc', out: 1 })

    const weights = hyper.use_wide && {
      rows: nn.sequenceEmbedding(features, { name: 'weights', dim: 1, length, init: normal(0.001) }).x,
    }
    const wide = weights ? add(score, sum(mul(sum(weights.rows, 2), values), 1, true)) : score
    const flat = reshape(vectors, [-1, length * dim])
    const logit = hyper.fc_sizes.length === 0 ? wide : add(wide, deep(flat, hyper.fc_sizes)) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

const normal = (std: number) => ({ kind: 'normal', mean: 0, std }) as const

interface InteractOptions {
  readonly out: number
  readonly name: string
  readonly hyper: Pick<z.output<typeof hyperParameters>, 'head_num' | 'scaling' | 'use_residual'>
}

/** norm(relu(attention(x) + relu(x W))): all of it without biases, as the authors have it. */
function interact(
  x: Tensor,
  { out, name, hyper: { head_num: heads, scaling: scaled, use_residual } }: InteractOptions,
): Tensor {
  const attention = new nn.SelfAttention({
    in: Number(x.shape[2]),
    out,
    heads,
    scaled,
    activation: 'relu',
    bias: false,
    project: false,
  })
  const attended = attention.named(name).forward(x)
  const residual = use_residual && nn.linear(x, { name: `${name}.residual`, out, activation: 'relu', biasInit: false })
  return nn.layerNorm(relu(residual ? add(attended, residual) : attended), { name: `${name}.norm`, epsilon: 1e-8 })
}

/** Linear layers with batch norm and ReLU, and one that gives the score. */
function deep(x: Tensor, sizes: readonly number[]): Tensor {
  const hidden = sizes.reduce((input, out, i) => {
    const y = nn.linear(input, { name: `dnn.${i}`, out })
    return relu(nn.batchNorm(y, { name: `dnn.norm_${i}`, momentum: 0.99, epsilon: 0.001 }))
  }, x)
  return nn.linear(hidden, { name: 'dnn.out', out: 1 })
}
