/** @file Cases for what is composed of ops: functions of program/ and layers of nn/. */
import * as nn from '../../src/graph/nn/index.ts'
import {
  clip,
  concat,
  gather,
  gelu,
  logSoftmax,
  maskedSoftmax,
  mul,
  reshape,
  sigmoid,
  slice,
  softmax,
  softplus,
  split,
  stack,
  type Tensor,
  tile,
  variance,
} from '../../src/graph/program/index.ts'
import type { OpCase, Sizes } from './case.ts'

const batch = ({ n }: Sizes) => [['B', n]] as const
const two = ({ n }: Sizes) =>
  [
    ['B', n],
    ['B', n],
  ] as const
const sequence = ({ n }: Sizes) => [['B', 'T', n]] as const
/** T known when the program is built, as recurrent layers need it. */
const unrolled = ({ T, n }: Sizes) => [['B', T, n]] as const
const classes = ({ n }: Sizes) => [{ shape: ['B', 1], below: n }] as const
const bits = ({ n }: Sizes) => [{ shape: ['B', n], below: 2 }] as const

const layer = (build: (x: Tensor, sizes: Sizes) => Tensor, shapes: OpCase['shapes'] = batch): OpCase => ({
  shapes,
  build: ([x], _, sizes) => build(x!, sizes),
})
const mask = (x: Tensor) => x.builder.maskOf(x)
/** Operands for layers in which large ones grow: products of products, norms of few columns. */
const small = (test: OpCase): OpCase => ({ ...test, range: [-0.75, 0.75] })

export const LAYER_CASES = {
  gelu: layer(gelu),
  softplus: layer(softplus),
  prelu: layer((x) => nn.prelu(x, { name: 'act' })),
  clip: layer((x) => clip(x, -1, 0.5)),
  variance: layer((x) => variance(x, 1)),
  tile: layer((x) => tile(x, [2, 3])),
  stack_split: layer((x) =>
    stack(
      split(x, [1, Number(x.shape[1]) - 1], 1).map((part) => reshape(slice(part, 1, 0, 1), [-1])),
      1,
    ),
  ),
  gather_axis: {
    shapes: ({ m, n, k }) => [[m, n, k]],
    ints: ({ n }) => [{ shape: [4], below: n }],
    build: ([x], [i]) => gather(x!, i!, 1),
  },
  masked_softmax: layer((x) => maskedSoftmax(x, reshape(mask(x), [...mask(x).shape, 1]), 1), sequence),

  linear: layer((x, { m }) => nn.linear(x, { name: 'fc', out: m, activation: 'tanh' }), sequence),
  mlp: layer((x, { m }) => nn.mlp(x, { name: 'mlp', sizes: [4, m], activation: 'sigmoid' })),
  dense_embedding: {
    shapes: ({ n }) => [[n]],
    ints: ({ k }) => [{ shape: ['B', 2], below: k }],
    build: (_, [i], { k, m }) => nn.denseEmbedding(i!, { name: 'item', size: k, dim: m }).x,
  },
  layer_norm: layer((x) => nn.layerNorm(x, { name: 'norm' }), sequence),
  batch_norm: layer((x) => nn.batchNorm(x, { name: 'norm', epsilon: 0.01 }), sequence),
  field_norm: layer((x) => nn.fieldNorm(x, { name: 'norm' }), unrolled),
  l2_normalize: layer((x) => nn.l2Normalize(x)),
  cosine_similarity: { shapes: two, build: ([a, b]) => nn.cosineSimilarity(a!, b!) },
  dropout: layer((x) => nn.dropout(x, { name: 'drop', rate: 0.3 }), sequence),

  masked_mean: layer((x) => nn.maskedMean(x, mask(x)), sequence),
  place_embedding: layer(
    (x, { n }) => mul(x, nn.placeEmbedding(mask(x), { name: 'place', length: 3, dim: n })),
    sequence,
  ),
  attention: layer((x) => nn.dotProductAttention(x, x, x, { mask: mask(x) }), sequence),
  conv1d: layer((x, { m }) => nn.conv1d(x, { name: 'conv', out: m, kernel: 3 }), sequence),
  conv1d_valid: layer((x, { m }) => nn.conv1d(x, { name: 'conv', out: m, kernel: 2, padding: 'valid' }), sequence),
  gru: layer((x, { m }) => nn.gru(x, { name: 'gru', units: m, mask: mask(x) }).outputs, unrolled),
  lstm: layer((x, { m }) => nn.lstm(x, { name: 'lstm', units: m, mask: mask(x) }).last, unrolled),

  // The blocks of known models.
  cross_net_vector: layer((x, { n }) => new nn.CrossNetVector({ width: n, layers: 2 }).named('cross').forward(x)),
  pairwise_dots: layer((x) => nn.pairwiseDots(x), unrolled),
  cin: small(layer((x, { T }) => new nn.Cin({ fields: T, sizes: [3, 2] }).named('cin').forward(x), unrolled)),
  squeeze_excite: layer(
    (x, { T }) => new nn.SqueezeExcite({ fields: T, reduction: 2 }).named('se').forward(x),
    unrolled,
  ),
  ...Object.fromEntries(
    (['all', 'each', 'interaction'] as const).map((kind) => [
      `bilinear_${kind}`,
      layer((x, { T, n }) => new nn.BilinearInteraction({ fields: T, dim: n, kind }).named('b').forward(x), unrolled),
    ]),
  ),
  mask_block: {
    shapes: two,
    build: ([features, x], _, { n, m }) =>
      new nn.MaskBlock({ features: n, in: n, out: m + 1, reduction: 0.5 }).named('block').forward(features!, x!),
  },
  factorized: layer((x, { n }) => new nn.FactorizedInteraction({ in: n, out: 4 }).named('f').forward(x)),
  factorized_sum: layer((x, { n }) =>
    new nn.FactorizedInteraction({ in: n, out: 3, residual: 'sum' }).named('f').forward(x),
  ),
  self_attention: small(
    layer(
      (x, { n }) => new nn.SelfAttention({ in: n, out: 4, heads: 2 }).named('a').forward(x, { mask: mask(x) }),
      sequence,
    ),
  ),
  causal_attention: layer((x, { n }) => {
    const attention = new nn.SelfAttention({ in: n, out: 4, heads: 2, causal: true, bias: false, project: false })
    const bias = new nn.RelativeBias({ length: 3, heads: 2 }).named('distance').forward(x)
    return attention.named('a').forward(x, { mask: mask(x), bias })
  }, sequence),
  transformer: small(
    layer(
      (x, { n }) =>
        new nn.TransformerLayer({ width: n, inner: 3, activation: 'gelu' }).named('t').forward(x, { mask: mask(x) }),
      sequence,
    ),
  ),
  transformer_norm_after: small(
    layer(
      (x, { n }) => new nn.TransformerLayer({ width: n, norm: 'after', causal: true }).named('t').forward(x),
      sequence,
    ),
  ),
  capsules: {
    // The rounds before the last pass no gradient, which finite differences do not know.
    ...layer((x, { n, T }) => {
      const options = { in: n, out: 3, length: T, interests: 2 }
      return new nn.CapsuleRouting(options).named('capsules').forward(x, mask(x))
    }, unrolled),
    numeric: false,
  },
  attention_scores: {
    shapes: ({ n }) => [
      ['B', 'T', n],
      ['B', 'T', n],
    ],
    build: ([queries, keys], _, { n }) =>
      new nn.AttentionUnit({ width: n, sizes: [3] }).named('a').scores(queries!, keys!),
  },
  interval_attention: {
    shapes: ({ T }) => [
      ['B', T, 2],
      ['B', T, 2],
      ['B', T, 2],
      [3, 2],
      [3, 2],
    ],
    ints: ({ T }) => [{ shape: ['B', T, T], below: 3 }],
    range: [-0.75, 0.75],
    build: ([x, placeKey, placeValue, key, value], [intervals]) =>
      new nn.IntervalAttention({ in: 2, heads: 2 }).named('a').forward(x!, {
        seen: x!,
        mask: mask(x!),
        places: { key: placeKey!, value: placeValue! },
        intervals: intervals!,
        lengths: { key: key!, value: value! },
      }),
  },
  gated_graph: {
    shapes: ({ T, m }) => [['B', T, m]],
    ints: ({ T }) => [{ shape: ['B', T], below: T - 1 }],
    range: [-0.75, 0.75],
    build: ([x], [nodes], { m, T }) => {
      const graph = new nn.GatedGraph({ width: m }).named('g')
      return graph.forward(x!, nn.sessionEdges(nodes!, mask(x!), { count: T }))
    },
  },
  additive_attention: layer(
    (x, { n }) => new nn.AdditiveAttention({ in: n, hidden: 3 }).named('a').forward(x, mask(x)),
    sequence,
  ),
  squash: layer(nn.squash),
  label_aware_attention: {
    shapes: ({ T, n }) => [
      ['B', T, n],
      ['B', n],
    ],
    build: ([interests, target]) => nn.labelAwareAttention(interests!, target!, { power: 2 }),
  },
  augru: layer((x, { n, m }) => {
    const attention = reshape(softmax(slice(x, 2, 0, 1), 1), [...x.shape.slice(0, 2)])
    return new nn.AuGru({ in: n, units: m }).named('augru').forward(x, attention, mask(x)).outputs
  }, unrolled),
  progressive_experts: {
    shapes: ({ n }) => [
      ['B', n],
      ['B', n],
      ['B', n],
    ],
    build: (inputs, _, { n }) => {
      const options = { in: n, tasks: 2, taskExperts: 2, sharedExperts: 1, expertSize: 3 }
      return concat(new nn.ProgressiveExperts(options).named('level').forward(inputs), 1)
    },
  },
  gate_unit: layer((x, { n, m }) => new nn.GateUnit({ in: n, out: m, hidden: 3 }).named('gate').forward(x)),
  in_batch_softmax: {
    shapes: ({ n }) => [
      ['B', n],
      ['B', n],
      ['B', 1],
    ],
    ints: () => [{ shape: ['B', 1], below: 2 }],
    build: ([queries, items, logQ], [ids]) =>
      nn.inBatchSoftmax(queries!, items!, { temperature: 2, logQ: logQ!, ids: ids! }),
  },

  pair_products: layer((x) => nn.pairProducts(x), unrolled),
  bi_interaction: layer((x) => nn.biInteraction(x), unrolled),
  field_aware: layer(
    (x) => nn.fieldAwareSum(x),
    ({ T }) => [['B', T, 2 * T]],
  ),
  field_weighted: layer((x, { T }) => new nn.FieldWeightedPairs({ fields: T }).named('r').forward(x), unrolled),
  symmetric_pairs: layer((x, { T, n }) => new nn.SymmetricPairs({ fields: T, dim: n }).named('s').forward(x), unrolled),
  max_pool: layer((x) => nn.maxPool1d(x, { size: 2 }), unrolled),
  hstu: small(
    layer(
      (x) => new nn.HstuLayer({ width: 4, heads: 2, length: 3 }).named('h').forward(x, mask(x)),
      () => [['B', 'T', 4]],
    ),
  ),

  nn_softmax_cross_entropy: {
    shapes: batch,
    ints: classes,
    build: ([x], [i]) => nn.softmaxCrossEntropy(x!, reshape(i!, [-1])),
  },
  nn_sigmoid_cross_entropy: { shapes: batch, ints: bits, build: ([x], [z]) => nn.sigmoidCrossEntropy(x!, z!) },
  log_loss: { shapes: batch, ints: bits, build: ([x], [z]) => nn.logLoss(sigmoid(x!), z!) },
  square_error: { shapes: two, build: ([a, b]) => nn.squareError(a!, b!) },
  hinge: { shapes: batch, ints: bits, build: ([x], [z]) => nn.hinge(x!, z!) },
  margin_rank: { shapes: two, ints: bits, build: ([a, b], [z]) => nn.marginRank(a!, b!, z!) },
  kl_divergence: { shapes: two, build: ([a, b]) => nn.klDivergence(logSoftmax(a!), softmax(b!)) },
  sampled_softmax: {
    shapes: batch,
    ints: ({ n }) => [{ shape: ['B', 1], below: n + 4 }],
    build: ([x], [i], { n }) => nn.sampledSoftmax(x!, i!, { name: 'out', classes: n + 4, samples: 3 }),
  },
  nce: {
    shapes: batch,
    ints: ({ n }) => [{ shape: ['B', 1], below: n + 4 }],
    build: ([x], [i], { n }) => nn.nce(x!, i!, { name: 'out', classes: n + 4, samples: 3, sampler: 'uniform' }),
  },
} as const satisfies Readonly<Record<string, OpCase>>
