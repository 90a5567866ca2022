/** @file TextCNN: which class a text is of, by convolutions of several widths over its words. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, slice, softmax, tanh } from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }),
    /** Kept for PaddleRec's sake: a table here has no fixed number of rows. */
    dict_dim: z.int().positive().default(33_257),
    /** Words of a text that are read. */
    max_len: z.int().positive().default(150),
    emb_dim: z.int().positive().default(128),
    /** Channels of each convolution. */
    cnn_dim: z.int().positive().default(128),
    cnn_filter_sizes: z.array(z.int().positive()).min(1).default([1, 2, 3]),
    hid_dim: z.int().positive().default(96),
    class_dim: z.literal(2).default(2),
    is_sparse: z.boolean().default(false),
  },

  inputs: ({ sparse, label }) => ({ words: sparse('words'), label: label('label') }),

  net({ words, label }, { max_len: length, emb_dim: dim, cnn_dim: out, cnn_filter_sizes, hid_dim, class_dim }) {
    const { x, mask } = nn.sequenceEmbedding(words, { name: 'embedding', dim, length })
    const found = cnn_filter_sizes.map((kernel) =>
      nn.maskedMax(tanh(nn.conv1d(x, { name: `conv_${kernel}`, out, kernel })), mask),
    ) // [B, out] each: the strongest place of each channel
    const hidden = nn.linear(concat(found, 1), { name: 'hidden', out: hid_dim, activation: 'tanh' })
    const logits = nn.linear(hidden, { name: 'out', out: class_dim })
    return { loss: mean(nn.softmaxCrossEntropy(logits, label)), outputs: { predict: slice(softmax(logits), 1, 1) } }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
