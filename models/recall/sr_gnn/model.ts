/** @file SR-GNN: a session as a graph of what came after what; gated steps along it, and the item that comes next. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  cast,
  concat,
  div,
  equal,
  gather,
  greater,
  matmul,
  max,
  mean,
  mul,
  oneHot,
  sigmoid,
  slice,
  softmax,
  sub,
  sum,
  type Tensor,
  topK,
  transpose,
  unsqueeze,
} from 'oarfish/nn'

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', {
      learning_rate: z.number().positive().default(0.001),
      /** The rate is multiplied by decay_rate after each decay_steps epochs. */
      decay_steps: z.int().positive().default(3),
      decay_rate: z.number().positive().default(0.1),
      l2: z.number().min(0).default(0.00001),
    }),
    /** Items are numbered from 1 to this less one. */
    sparse_feature_number: z.int().min(2).default(43_098),
    sparse_feature_dim: z.int().positive().default(100),
    /** Kept for PaddleRec's sake. */
    corpus_size: z.int().positive().default(719_470),
    /** Batches of an epoch. */
    steps_per_epoch: z.int().positive().default(7195),
    gnn_propogation_steps: z.int().positive().default(1),
    /** Items of a session that are read; session_reader.ts keeps the last ones. */
    maxlen: z.int().min(2).default(50),
    /** Of recall and mrr. */
    recall_k: z.int().positive().default(20),
  },

  /** The items of a session in order, 0 where there is none, and the one that came next. */
  inputs: ({ dense, label }, { maxlen }) => ({ session: dense('session', maxlen, 'int64'), label: label('label') }),

  net({ session, label }, { sparse_feature_number, sparse_feature_dim: dim, recall_k, ...hyper }) {
    const bound = 1 / Math.sqrt(dim)
    const init = { kind: 'uniform', low: -bound, high: bound } as const
    const items = session.builder.parameter({ name: 'emb', shape: [sparse_feature_number, dim], init })
    const mask = cast(greater(session, 0), 'float32') // [B, T]

    // The node of an item is where it stands first; the nodes of other places have no edges and are not asked for.
    const nodes = firstPlaces(session, hyper.maxlen)
    const edges = nn.sessionEdges(nodes, mask, { count: hyper.maxlen })
    const graph = new nn.GatedGraph({ width: dim }).named('graph')
    let state = gather(items, session) // [B, T, dim]
    for (let i = 0; i < hyper.gnn_propogation_steps; i++) state = graph.forward(state, edges)
    const each = matmul(oneHot(unsqueeze(nodes, 2), hyper.maxlen), state) // [B, T, dim]: of every item in order

    const last = nn.lastElement(each, mask) // [B, dim]
    const known = unsqueeze(nn.linear(last, { name: 'last', out: dim, init }), 1)
    const beside = nn.linear(each, { name: 'each', out: dim, init, biasInit: false })
    const weights = nn.linear(sigmoid(add(known, beside)), { name: 'weight', out: 1, init, biasInit: false }) // [B, T, 1]
    const whole = sum(mul(each, mul(weights, unsqueeze(mask, 2))), 1)
    const vector = nn.linear(concat([whole, last], 1), { name: 'session', out: dim, init, biasInit: false })

    const logits = matmul(vector, transpose(slice(items, 0, 1))) // [B, items]: item 1 is column 0
    const truth = sub(label, 1)
    const above = nn.classesAbove({ logits, label: truth })
    const best = topK(softmax(logits), recall_k)
    return {
      loss: mean(nn.softmaxCrossEntropy(logits, truth)),
      recall: nn.hitMetrics(above, recall_k).hr,
      mrr: mean(mul(cast(greater(recall_k, above), 'float32'), div(1, add(above, 1)))),
      outputs: { scores: best.values, items: add(best.indices, 1) },
    }
  },

  metrics: ({ recall, mrr }) => ({ recall: metric.mean(recall), mrr: metric.mean(mrr) }),

  optimizer({ optimizer: { learning_rate: learningRate, decay_steps, decay_rate: gamma, l2 }, steps_per_epoch }) {
    const schedule = { kind: 'exponential', gamma, every: decay_steps * steps_per_epoch, staircase: true } as const
    return optimizer.adam({ learningRate, l2, schedule })
  },
})

/** For each place of a session the first one with the same item: [B, T], int64. */
function firstPlaces(session: Tensor, length: number): Tensor {
  const same = cast(equal(unsqueeze(session, 2), unsqueeze(session, 1)), 'float32') // [B, T, T]
  const fromEnd = sub(length, nn.positions(session.builder, length)) // length, length - 1, .. 1
  return cast(sub(length, max(mul(same, fromEnd), 2)), 'int64')
}
