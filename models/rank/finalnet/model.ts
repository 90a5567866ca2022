/** @file FinalNet: layers that multiply features as they pass through, in two blocks that teach each other. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, reshape, sigmoid, stopGradient, type Tensor, transpose, unsqueeze } from 'oarfish/nn'

const even = z.array(z.int().positive().multipleOf(2)).min(1)

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** The label and the sparse slots, as PaddleRec counts them. */
    sparse_inputs_slots: z.int().min(2).default(27),
    sparse_feature_dim: z.int().positive().default(10),
    dense_input_dim: z.int().positive().default(13),
    /** One block or two. */
    block_type: z.enum(['1B', '2B']).default('2B'),
    /** Columns of each layer; half of them are products. */
    block1_sizes: even.default([400, 400]),
    block2_sizes: even.default([800]),
    /** The first block sees each field a second time, scaled by what the other fields say. */
    use_feature_gating: z.boolean().default(true),
    use_bn: z.boolean().default(true),
    residual_type: z.enum(['concat', 'sum']).default('concat'),
    dropout_rate: z.number().min(0).lt(1).default(0),
  },

  inputs: ({ label, sparse, dense }, { sparse_inputs_slots, dense_input_dim }) => ({
    click: label('click'),
    slots: Array.from({ length: sparse_inputs_slots - 1 }, (_, i) => sparse(String(i + 1))),
    dense: dense('dense_feature', dense_input_dim),
  }),

  /** A dense value is a feature too: its vector is scaled by the value. */
  net({ click, slots, dense }, { sparse_feature_dim: dim, dense_input_dim, ...hyper }, { training }) {
    const rows = reshape(nn.embedding(slots, { name: 'embedding', dim }), [-1, slots.length, dim])
    const init = { kind: 'uniform', low: -0.05, high: 0.05 } as const
    const denseVectors = dense.builder.parameter({ name: 'dense_vectors', shape: [dense_input_dim, dim], init })
    const vectors = concat([rows, mul(unsqueeze(dense, 2), denseVectors)], 1) // [B, fields, dim]
    const gated = hyper.use_feature_gating ? concat([vectors, mul(vectors, gatesOf(vectors))], 1) : vectors

    const first = block(gated, { name: 'block1', sizes: hyper.block1_sizes, ...hyper }) // [B, 1]
    const second = hyper.block_type === '2B' && block(vectors, { name: 'block2', sizes: hyper.block2_sizes, ...hyper })
    const logit = second ? mul(add(first, second), 0.5) : first
    const cost = mean(nn.sigmoidCrossEntropy(logit, click))
    const predict = sigmoid(logit)
    // Each block also learns what both say together; that counts in training only, so that losses of evaluations compare.
    const taught = (own: Tensor) => mean(nn.sigmoidCrossEntropy(own, stopGradient(predict)))
    const loss = second && training ? add(cost, add(taught(first), taught(second))) : cost
    return { loss, outputs: { predict } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** For each value of a field a factor from the same value of all fields: [B, fields, dim]. */
function gatesOf(vectors: Tensor): Tensor {
  const out = Number(vectors.shape[1])
  const biasInit = { kind: 'constant', value: 1 } as const
  return transpose(nn.linear(transpose(vectors), { name: 'gate', out, init: { kind: 'zeros' }, biasInit }))
}

interface BlockOptions {
  readonly name: string
  readonly sizes: readonly number[]
  readonly use_bn: boolean
  readonly residual_type: 'concat' | 'sum'
  readonly dropout_rate: number
}

/** Factorized layers, each with batch norm where it is wanted, and a score: [B, 1]. */
function block(
  vectors: Tensor,
  { name, sizes, use_bn, residual_type: residual, dropout_rate: rate }: BlockOptions,
): Tensor {
  const [, fields, dim] = vectors.shape.map(Number)
  const flat = reshape(vectors, [-1, fields! * dim!])
  const crossed = sizes.reduce((x, out, i) => {
    const layer = new nn.FactorizedInteraction({ in: Number(x.shape[1]), out, residual }).named(`${name}.${i}`)
    const y = layer.forward(x)
    return nn.dropout(use_bn ? nn.batchNorm(y, { name: `${name}.norm_${i}` }) : y, {
      name: `${name}.dropout_${i}`,
      rate,
    })
  }, flat)
  return nn.linear(crossed, { name: `${name}.out`, out: 1 })
}
