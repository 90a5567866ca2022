/** @file Dropout and normalisation: what differs between training and inference goes through `phase`. */

import { type OptionNames, refuseOptions, UserError } from '../../base/util/index.ts'
import {
  add,
  constant,
  div,
  greater,
  maximum,
  mean,
  mul,
  phase,
  randomBits,
  sqrt,
  square,
  sub,
  sum,
  type Tensor,
  variance,
  where,
} from '../program/index.ts'
import { widthOf } from './shape.ts'

/** Options of dropout. */
export interface DropoutOptions {
  /** Names the random stream: dropouts of one name drop the same elements. */
  readonly name: string
  /** The share of elements set to 0. @default 0.5 */
  readonly rate?: number | undefined
}

/** Sets elements to 0 at random while training and scales the others by 1 / (1 - rate); nothing at inference. */
export function dropout(x: Tensor, { name, rate = 0.5, ...rest }: DropoutOptions): Tensor {
  refuseOptions('nn.dropout', rest, { name: true, rate: true } satisfies OptionNames<DropoutOptions>)
  if (!(rate >= 0 && rate < 1))
    throw new UserError(`dropout ${name}: the rate is ${rate}.`, {
      code: 'NN_DROPOUT',
      hint: 'Give 0 (keep all) up to, but not including, 1.',
    })
  if (rate === 0) return x
  const bits = randomBits(x.builder, x.shape, name)
  const threshold = constant(x.builder, Math.floor((rate - 0.5) * 2 ** 32), { dtype: 'int32' })
  return phase(where(greater(bits, threshold), mul(x, 1 / (1 - rate)), 0), x)
}

/** Options of layerNorm. */
export interface LayerNormOptions {
  readonly name: string
  /** @default 1e-5 */
  readonly epsilon?: number | undefined
}

const LAYER_NORM: OptionNames<LayerNormOptions> = { name: true, epsilon: true }

/** Each sample's last axis to mean 0 and variance 1, then `<name>.weight` and `<name>.bias`. */
export function layerNorm(x: Tensor, { name, epsilon = 1e-5, ...rest }: LayerNormOptions): Tensor {
  refuseOptions('nn.layerNorm', rest, LAYER_NORM)
  return scaleAndShift(standardize(x, mean(x, -1, true), variance(x, -1, true), epsilon), name)
}

/** Each field's vector by itself, with weights of its own for each: [B, fields, d], `<name>.weight` and `<name>.bias` [fields, d]. */
export function fieldNorm(x: Tensor, { name, epsilon = 1e-5, ...rest }: LayerNormOptions): Tensor {
  refuseOptions('nn.fieldNorm', rest, LAYER_NORM)
  const shape = x.shape.slice(1).map(Number)
  return scaleAndShift(standardize(x, mean(x, -1, true), variance(x, -1, true), epsilon), name, shape)
}

/** Options of batchNorm. */
export interface BatchNormOptions extends LayerNormOptions {
  /** The share of the old statistics kept at each step. @default 0.9 */
  readonly momentum?: number | undefined
}

/**
 * Each column to mean 0 and variance 1 over the batch while training, by the running statistics (state
 * `<name>.running_mean` and `<name>.running_variance`) at inference; then `<name>.weight` and `<name>.bias`.
 */
export function batchNorm(x: Tensor, { name, epsilon = 1e-5, momentum = 0.9, ...rest }: BatchNormOptions): Tensor {
  refuseOptions('nn.batchNorm', rest, { ...LAYER_NORM, momentum: true } satisfies OptionNames<BatchNormOptions>)
  const { builder, shape } = x
  const axes = [...shape.keys()].slice(0, -1)
  const running = (statistic: string, value: number, batch: Tensor): Tensor => {
    const state = builder.state({
      name: `${name}.${statistic}`,
      shape: [widthOf(x, name)],
      init: { kind: 'constant', value },
      merge: 'mean',
    })
    builder.setState(state, add(mul(state, momentum), mul(batch, 1 - momentum)))
    return phase(batch, state)
  }
  const center = running('running_mean', 0, mean(x, axes))
  const spread = running('running_variance', 1, variance(x, axes))
  return scaleAndShift(standardize(x, center, spread, epsilon), name)
}

/** x / |x| along an axis; a zero vector stays zero. */
export function l2Normalize(
  x: Tensor,
  { axis = -1, epsilon = 1e-12 }: { axis?: number; epsilon?: number } = {},
): Tensor {
  return div(x, norm(x, axis, epsilon))
}

/** The cosine of the angle between a and b along an axis, which stays with size 1. */
export function cosineSimilarity(
  a: Tensor,
  b: Tensor,
  { axis = -1, epsilon = 1e-8 }: { axis?: number; epsilon?: number } = {},
): Tensor {
  return div(sum(mul(a, b), axis, true), mul(norm(a, axis, epsilon), norm(b, axis, epsilon)))
}

/** |x| along an axis, at least epsilon: below it no gradient passes, where the norm has none. */
function norm(x: Tensor, axis: number, epsilon: number): Tensor {
  return sqrt(maximum(sum(square(x), axis, true), epsilon ** 2))
}

/** (x - center) / sqrt(spread + epsilon). */
export function standardize(x: Tensor, center: Tensor, spread: Tensor, epsilon: number): Tensor {
  return div(sub(x, center), sqrt(add(spread, epsilon)))
}

function scaleAndShift(x: Tensor, name: string, shape: readonly number[] = [widthOf(x, name)]): Tensor {
  const weight = x.builder.parameter({ name: `${name}.weight`, shape, init: { kind: 'constant', value: 1 } })
  const bias = x.builder.parameter({ name: `${name}.bias`, shape, init: { kind: 'zeros' } })
  return add(mul(x, weight), bias)
}
