/** @file Losses over many classes by a few drawn ones. Negatives are drawn once a step, shared by the batch, from the step's seed. */
import { type OptionNames, refuseOptions, unknownOf } from '../../base/util/index.ts'
import {
  add,
  cast,
  concat,
  constant,
  div,
  equal,
  exp,
  expand,
  floor,
  gather,
  gemm,
  log,
  MASKED_SCORE,
  minimum,
  mul,
  randomUniform,
  reshape,
  sub,
  sum,
  type Tensor,
  where,
} from '../program/index.ts'
import { sigmoidCrossEntropy, softmaxCrossEntropy } from './loss.ts'
import { widthOf } from './shape.ts'

/** Options of sampledSoftmax and nce. */
export interface SampledOptions {
  /** The parameters are `<name>.weight` [classes, d] and `<name>.bias` [classes]. */
  readonly name: string
  readonly classes: number
  /** Negatives a step. */
  readonly samples: number
  /** log_uniform suits classes numbered from the most frequent on. @default 'log_uniform' */
  readonly sampler?: keyof typeof SAMPLERS | undefined
}

const SAMPLED: OptionNames<SampledOptions> = { name: true, classes: true, samples: true, sampler: true }

/**
 * Cross-entropy of the true class among the drawn ones: x [B, d], label [B, 1] -> [B, 1]. Each draw stands for
 * 1 / (samples * probability) classes, so that the sum over draws estimates the sum over all other classes.
 */
export function sampledSoftmax(x: Tensor, label: Tensor, options: SampledOptions): Tensor {
  refuseOptions('nn.sampledSoftmax', unknownOf(options, SAMPLED), SAMPLED)
  const { positive, negative } = sampledLogits(x, label, { ...options, ...classWeights(x, options) })
  const logits = concat([positive, negative], 1)
  return softmaxCrossEntropy(logits, firstClass(logits))
}

/** Labels [B, 1] that say class 0: where the true class stands among drawn ones. */
export function firstClass(logits: Tensor): Tensor {
  return expand(constant(logits.builder, 0, { dtype: 'int64' }), [logits.shape[0]!, 1])
}

/** Noise-contrastive estimation: the true class against 1 and each draw against 0, one by one; [B, 1]. */
export function nce(x: Tensor, label: Tensor, options: SampledOptions): Tensor {
  refuseOptions('nn.nce', unknownOf(options, SAMPLED), SAMPLED)
  const { positive, negative, correction } = sampledLogits(x, label, { ...options, ...classWeights(x, options) })
  const target = (logits: Tensor, value: number) => expand(constant(x.builder, value), logits.shape)
  const own = sub(positive, correction(cast(reshape(label, [-1, 1]), 'float32')))
  const missed = sigmoidCrossEntropy(own, target(own, 1))
  return add(missed, sum(sigmoidCrossEntropy(negative, target(negative, 0)), 1, true))
}

/** How classes are drawn from u in [0, 1], and how likely a class is. */
const SAMPLERS = {
  uniform: {
    draw: (u: Tensor, classes: number) => floor(mul(u, classes)),
    probability: (id: Tensor, classes: number) => add(mul(id, 0), 1 / classes),
  },
  // P(c) = ln((c + 2) / (c + 1)) / ln(classes + 1)
  log_uniform: {
    draw: (u: Tensor, classes: number) => sub(floor(exp(mul(u, Math.log(classes + 1)))), 1),
    probability: (id: Tensor, classes: number) => div(log(div(add(id, 2), add(id, 1))), Math.log(classes + 1)),
  },
} as const

function classWeights(x: Tensor, { name, classes }: SampledOptions): { weight: Tensor; bias: Tensor } {
  const { builder } = x
  const shape = [classes, widthOf(x, name)]
  const weight = builder.parameter({ name: `${name}.weight`, shape, init: { kind: 'xavier_uniform' } })
  return { weight, bias: builder.parameter({ name: `${name}.bias`, shape: [classes], init: { kind: 'zeros' } }) }
}

/** Logits of the true class [B, 1], and of the draws [B, samples] less ln(expected draws); a draw of the true class does not count. */
export function sampledLogits(
  x: Tensor,
  label: Tensor,
  options: SampledOptions & { readonly weight: Tensor; readonly bias: Tensor },
): { positive: Tensor; negative: Tensor; correction: (id: Tensor) => Tensor } {
  const { builder } = x
  const { name, classes, samples, sampler = 'log_uniform', weight, bias } = options
  const { draw, probability } = SAMPLERS[sampler]
  const drawn = minimum(draw(randomUniform(builder, [samples], name), classes), classes - 1) // [samples]
  const ids = cast(drawn, 'int64')
  const truth = reshape(label, [-1]) // [B]

  const correction = (id: Tensor) => log(mul(probability(id, classes), samples))
  const positive = add(sum(mul(x, gather(weight, truth)), 1, true), reshape(gather(bias, truth), [-1, 1]))
  const others = sub(gemm(x, gather(weight, ids), { bias: gather(bias, ids), transposeB: true }), correction(drawn))
  const collides = equal(cast(reshape(label, [-1, 1]), 'int32'), cast(ids, 'int32')) // [B, samples]
  return { positive, negative: where(collides, MASKED_SCORE, others), correction }
}
