/** @file Multi-view SimNet: a query and titles, each encoded word by word; a query should lie nearer to its title than to another. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { add, cast, greater, mean, mul, relu, reshape, slice, stack, type Tensor } from 'oarfish/nn'

/** The words that a convolution sees. */
const KERNEL = 3
const encoder = z.enum(['bow', 'cnn', 'gru'])

export default defineModel({
  hyperParameters: z
    .strictObject({
      optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
      /** How words become a vector: their mean, or the largest of each channel of a convolution or of a GRU's states. */
      query_encoder: encoder.default('gru'),
      title_encoder: encoder.default('gru'),
      query_encode_dim: z.int().positive().default(128),
      title_encode_dim: z.int().positive().default(128),
      /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
      sparse_feature_dim: z.int().positive().default(6327),
      embedding_dim: z.int().positive().default(128),
      /** Of the vectors that are compared. */
      hidden_size: z.int().positive().default(128),
      /** By how much the own title should be nearer. */
      margin: z.number().positive().default(0.1),
      /** Words that are read. */
      query_len: z.int().positive().default(79),
      pos_len: z.int().positive().default(99),
      neg_len: z.int().positive().default(90),
    })
    .check(({ value, issues }) => {
      for (const side of ['query', 'title'] as const) {
        if (value[`${side}_encoder`] !== 'bow' || value[`${side}_encode_dim`] === value.embedding_dim) continue
        const message = `expected embedding_dim, ${value.embedding_dim}: a bag of words is as wide as a word`
        const path = [`${side}_encode_dim`]
        issues.push({ code: 'custom', path, input: value, message, params: { fix: value.embedding_dim } })
      }
    }),

  /** Words of the query, of a title that fits, and of one that does not. */
  inputs: ({ sparse }) => ({ query: sparse('0'), title: sparse('1'), other: sparse('2') }),

  /** `hit` is how often the fitting title is the nearer one. */
  net({ query, title, other }, { embedding_dim: dim, hidden_size: out, query_len, pos_len, neg_len, ...hyper }) {
    const words = (slot: typeof query, length: number) =>
      nn.sequenceEmbedding(slot, { name: slot.name, table: 'emb', dim, length })
    const asked = words(query, query_len)
    const length = Math.max(pos_len, neg_len) // both titles go through one encoder
    const [own, far] = [words(title, length), words(other, length)]
    const titles = reshape(stack([own.x, far.x], 1), [-1, length, dim]) // [2 B, T, dim]
    const there = reshape(stack([own.mask, far.mask], 1), [-1, length])

    const asVector = encode(asked.x, asked.mask, {
      name: 'query',
      kind: hyper.query_encoder,
      out: hyper.query_encode_dim,
    })
    const both = encode(titles, there, { name: 'title', kind: hyper.title_encoder, out: hyper.title_encode_dim })
    const q = nn.linear(asVector, { name: 'q_fc', out }) // [B, out]
    const t = reshape(nn.linear(both, { name: 't_fc', out }), [-1, 2, out])
    const cosine = (i: number) => nn.cosineSimilarity(q, reshape(slice(t, 1, i, i + 1), [-1, out])) // [B, 1]
    const [near, off] = [cosine(0), cosine(1)]
    const right = add(mul(near, 0), 1)
    return {
      loss: mean(nn.marginRank(near, off, right, { margin: hyper.margin })),
      hit: mean(cast(greater(near, off), 'float32')),
      outputs: { query_pt_sim: near },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

interface Encoder {
  readonly name: string
  readonly kind: z.infer<typeof encoder>
  readonly out: number
}

/** Words [B, T, dim] as one vector [B, out]. */
function encode(x: Tensor, mask: Tensor, { name, kind, out }: Encoder): Tensor {
  if (kind === 'bow') return nn.maskedMean(x, mask)
  const each =
    kind === 'gru' ? nn.gru(x, { name, units: out, mask }).outputs : relu(nn.conv1d(x, { name, out, kernel: KERNEL }))
  return nn.maskedMax(each, mask)
}
