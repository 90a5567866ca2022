/** @file NAML: news as vectors of title, text and category, users as what they read; which of some news a user will read. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  cast,
  equal,
  expand,
  greater,
  less,
  logSoftmax,
  matmul,
  mean,
  mul,
  neg,
  relu,
  reshape,
  sigmoid,
  slice,
  stack,
  type Tensor,
  unsqueeze,
} from 'oarfish/nn'

/** Words that a convolution sees. */
const KERNEL = 3

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Words of a text and of a title that are read; NAMLDataReader.ts keeps the first ones. */
    article_content_size: z.int().positive().default(200),
    article_title_size: z.int().positive().default(30),
    /** News of a history that are read; NAMLDataReader.ts keeps the last ones. */
    browse_size: z.int().positive().default(50),
    /** News beside the one that was read. */
    neg_condidate_sample_size: z.int().positive().default(4),
    word_dimension: z.int().positive().default(300),
    category_dimension: z.int().positive().default(100),
    conv_out_channel_size: z.int().positive().default(400),
    attention_projection_size: z.int().positive().default(100),
    /** Kept for PaddleRec's sake, as the next two: tables here have no fixed number of rows. */
    word_dict_size: z.int().positive().default(101),
    category_size: z.int().positive().default(18),
    sub_category_size: z.int().positive().default(293),
  },

  /** Of each news in turn (the one that was read, others, the history) categories and words, and how many words there are; the rest is filled with 0. */
  inputs: ({ sparse, dense }, { neg_condidate_sample_size: others, browse_size }) => ({
    category: sparse('category'),
    subCategory: sparse('sub_category'),
    title: { words: sparse('title'), count: dense('title_words', 1 + others + browse_size) },
    content: { words: sparse('content'), count: dense('content_words', 1 + others + browse_size) },
  }),

  net({ category, subCategory, title, content }, { conv_out_channel_size: out, ...hyper }) {
    const shown = 1 + hyper.neg_condidate_sample_size
    const news = shown + hyper.browse_size
    const attention = (name: string) =>
      new nn.AdditiveAttention({ in: out, hidden: hyper.attention_projection_size }).named(name)

    /** [B * news, out]: a convolution over the words, then attention among them. */
    const text = ({ words, count }: typeof title, name: string, size: number) => {
      const options = { name, table: 'word', dim: hyper.word_dimension, length: news * size }
      const rows = reshape(nn.sequenceEmbedding(words, options).x, [-1, size, hyper.word_dimension])
      const mask = cast(less(nn.positions(count.builder, size), reshape(count, [-1, 1])), 'float32') // [B * news, size]
      const found = relu(nn.conv1d(mul(rows, unsqueeze(mask, 2)), { name: `${name}_conv`, out, kernel: KERNEL }))
      return attention(`${name}_attention`).forward(found, mask)
    }
    const kind = (slot: typeof category, name: string) => {
      const rows = nn.sequenceEmbedding(slot, { name, dim: hyper.category_dimension, length: news }).x
      return nn.linear(reshape(rows, [-1, hyper.category_dimension]), { name: `${name}_fc`, out, activation: 'relu' })
    }
    const views = [
      text(title, 'title', hyper.article_title_size),
      text(content, 'content', hyper.article_content_size),
      kind(category, 'category'),
      kind(subCategory, 'sub_category'),
    ]
    const vectors = reshape(attention('view_attention').forward(stack(views, 1)), [-1, news, out])

    const there = cast(greater(add(title.count, content.count), 0), 'float32') // [B, news]: some histories are short
    const user = attention('user_attention').forward(slice(vectors, 1, shown), slice(there, 1, shown))
    const scores = reshape(matmul(slice(vectors, 1, 0, shown), unsqueeze(user, 2)), [-1, shown])
    return {
      loss: mean(neg(slice(logSoftmax(scores), 1, 0, 1))),
      ...asPairs(scores),
      outputs: { predict: sigmoid(scores), user },
    }
  },

  metrics: ({ scored, isRead }) => ({ auc: metric.auc(scored, isRead) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** All news that were shown, one below the other, and whether they were read, as the first of a sample was. */
function asPairs(scores: Tensor): { scored: Tensor; isRead: Tensor } {
  const [, shown] = scores.shape
  const first = cast(equal(nn.positions(scores.builder, shown!), 0), 'float32')
  return { scored: reshape(sigmoid(scores), [-1, 1]), isRead: reshape(expand(first, scores.shape), [-1, 1]) }
}
