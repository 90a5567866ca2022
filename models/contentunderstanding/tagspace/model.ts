/** @file TagSpace: texts and their tags as vectors of one space, a text being nearer to its own tag than to others. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  cast,
  div,
  expand,
  greater,
  max,
  maximum,
  mean,
  mul,
  relu,
  reshape,
  sub,
  sum,
  tanh,
  unsqueeze,
  where,
} from 'oarfish/nn'

/** Below any cosine. */
const NOWHERE = -2

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adagrad', { learning_rate: z.number().positive().default(0.01) }),
    /** Kept for PaddleRec's sake, as vocab_tag_size: tables here have no fixed number of rows. */
    vocab_text_size: z.int().positive().default(75_378),
    vocab_tag_size: z.int().positive().default(4),
    /** Words of a text that are read. */
    max_len: z.int().positive().default(100),
    emb_dim: z.int().positive().default(10),
    /** Channels of the convolution, and the words that it sees. */
    hid_dim: z.int().positive().default(1000),
    win_size: z.int().positive().default(5),
    /** By how much the own tag should be nearer than others. */
    margin: z.number().positive().default(0.1),
    /** Other tags of a sample, at most. */
    neg_size: z.int().positive().default(3),
  },

  inputs: ({ sparse }) => ({ text: sparse('text'), tag: sparse('pos_tag'), others: sparse('neg_tag') }),

  net({ text, tag, others }, { max_len: length, emb_dim: dim, hid_dim: out, win_size: kernel, margin, neg_size }) {
    const { x, mask } = nn.sequenceEmbedding(text, { name: 'text_emb', dim, length })
    const found = nn.maskedMax(tanh(nn.conv1d(x, { name: 'conv', out, kernel })), mask) // [B, out]
    const vector = nn.linear(found, { name: 'fc', out: dim }) // [B, dim]
    const tags = { table: 'tag_emb', dim }
    const own = nn.cosineSimilarity(vector, nn.embedding(tag, { name: 'tag', ...tags })) // [B, 1]
    const { x: other, mask: isThere } = nn.sequenceEmbedding(others, { name: 'other', ...tags, length: neg_size }) // [B, neg, dim], [B, neg]
    const cosines = reshape(nn.cosineSimilarity(expand(unsqueeze(vector, 1), other.shape), other), [-1, neg_size])
    return {
      loss: div(sum(mul(relu(add(sub(cosines, own), margin)), isThere)), maximum(sum(isThere), 1)),
      hit: mean(cast(greater(own, max(where(greater(isThere, 0), cosines, NOWHERE), 1, true)), 'float32')),
      outputs: { own_tag_cos: own, text: vector },
    }
  },

  metrics: ({ hit }) => ({ hit: metric.mean(hit) }),

  optimizer: (hyper) => optimizer.adagrad({ learningRate: hyper.optimizer.learning_rate }),
})
