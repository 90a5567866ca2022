/** @file PEPNet: the domain scales the rows, user and item scale the layers of each task. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, concat, mean, mul, sigmoid, stopGradient, type Tensor } from 'oarfish/nn'

const NO_FIELD = 'expected numbers below num_field: fields are numbered from 0'

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
      sparse_feature_number: z.int().positive().default(737_946),
      sparse_feature_dim: z.int().positive().default(12),
      num_field: z.int().positive().default(23),
      fc_sizes: z.array(z.int().positive()).min(1).default([256, 64]),
      /** Numbers of the fields that say which domain it is, and of those that say who and what. */
      domain_fields: z.array(z.int().min(0)).min(1).default([22]),
      person_fields: z.array(z.int().min(0)).min(1).default([0, 13]),
      /** Values of a field that esmm_reader.ts keeps. */
      max_len: z.int().positive().default(3),
    })
    .refine(({ domain_fields, num_field }) => domain_fields.every((i) => i < num_field), {
      path: ['domain_fields'],
      error: NO_FIELD,
    })
    .refine(({ person_fields, num_field }) => person_fields.every((i) => i < num_field), {
      path: ['person_fields'],
      error: NO_FIELD,
    }),

  inputs: ({ sparse, label }, { num_field }) => ({
    fields: Array.from({ length: num_field }, (_, i) => sparse(`field_${i}`)),
    click: label('ctr'),
    buy: label('cvr'),
  }),

  net({ fields, click, buy }, { sparse_feature_dim: dim, fc_sizes, ...hyper }) {
    const rows = nn.embedding(fields, { name: 'embedding', dim })
    const of = (numbers: readonly number[], name: string) =>
      nn.embedding(
        numbers.map((i) => fields[i]!),
        { name, dim },
      )
    const [domain, person] = [of(hyper.domain_fields, 'domain'), of(hyper.person_fields, 'person')]
    const shared = mul(rows, gate(domain, rows, 'domain_gate', Number(rows.shape[1])))
    const task = (name: string) => {
      const top = fc_sizes.reduce((x, out, i) => {
        const scaled = mul(x, gate(person, shared, `${name}_gate_${i}`, Number(x.shape[1])))
        return nn.linear(scaled, { name: `${name}.${i}`, out, activation: 'relu' })
      }, shared)
      return nn.linear(top, { name: `${name}_out`, out: 1 }) // [B, 1]
    }
    const [ctr, cvr] = [task('ctr'), task('cvr')]
    return {
      loss: add(mean(nn.sigmoidCrossEntropy(ctr, click)), mean(nn.sigmoidCrossEntropy(cvr, buy))),
      outputs: { pred_ctr: sigmoid(ctr), pred_cvr: sigmoid(cvr) },
    }
  },

  metrics: ({ outputs: { pred_ctr, pred_cvr } }, { click, buy }) => ({
    auc_ctr: metric.auc(pred_ctr, click),
    auc_cvr: metric.auc(pred_cvr, buy),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** Factors between 0 and 2 from what is known and from what they scale, which learns nothing through them. */
function gate(known: Tensor, scaled: Tensor, name: string, out: number): Tensor {
  const x = concat([known, stopGradient(scaled)], 1)
  return new nn.GateUnit({ in: Number(x.shape[1]), out }).named(name).forward(x)
}
