/** @file Slot DNN: the model of online training. Hundreds of slots of any number of signs each, summed by slot, through fully connected layers. */
import { defineModel, metric, optimizer, optimizerKeys, showClickEntry, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import { clip, mean, sigmoid } from 'oarfish/nn'

/** Weights of a layer are drawn with a deviation of this, divided by the root of its inputs. */
const INIT_RANGE = 0.2

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.coerce.number().positive().default(5e-6) }),
    slot_num: z.int().min(1).default(300),
    emb_dim: z.int().positive().default(9),
    layer_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128]),
    /** Kept for PaddleRec's sake, as the next two: a table has no fixed number of rows, and emb_dim is its width. */
    dict_dim: z.int().positive().default(1_000_000),
    sparse_feature_dim: z.int().positive().default(9),
    distributed_embedding: z.int().min(0).max(1).default(0),
  },

  /** In this order readers print them: slot 1 of the data is the click, the others begin at 2. */
  inputs: ({ dense, label, sparse }, { slot_num }) => ({
    show: dense('show', 1),
    click: label('click'),
    slots: Array.from({ length: slot_num }, (_, i) => sparse(String(i + 2), { required: false })),
  }),

  /** `show` is only counted: how often a sign was shown and clicked decides what becomes of its row. */
  net({ click, slots }, { emb_dim: dim, layer_sizes }) {
    const entry = showClickEntry('show', 'click')
    let x = nn.embedding(slots, { name: 'embedding', dim, entry, init: { kind: 'uniform', low: -1e-4, high: 1e-4 } }) // [B, slots * dim]
    const sizes = [slots.length * dim, ...layer_sizes]
    for (const [i, out] of [...layer_sizes, 1].entries()) {
      const init = { kind: 'normal', mean: 0, std: INIT_RANGE / Math.sqrt(sizes[i]!) } as const
      x = nn.linear(x, { name: `fc.${i}`, out, init, activation: i < layer_sizes.length ? 'relu' : undefined })
    }
    const predict = sigmoid(clip(x, -15, 15)) // [B, 1]
    return { loss: mean(nn.logLoss(predict, click)), outputs: { predict } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({
    auc: metric.auc(predict, click),
    logloss: metric.logLoss(predict, click),
    copc: metric.copc(predict, click),
    global: metric.aucReport(predict, click),
  }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})
