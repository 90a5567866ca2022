/** @file Fully connected layers, named by their path: `fc0` has the parameters `fc0.weight` [in, out] and `fc0.bias` [out]. */

import { gemm, type Initializer, reshape, type Tensor } from '../program/index.ts'
import { ACTIVATIONS, type Activation } from './activation.ts'
import { widthOf } from './shape.ts'

export interface LinearOptions {
  readonly name: string
  /** Columns of the result. */
  readonly out: number
  /** @default none */
  readonly activation?: Activation
  /** @default Xavier uniform */
  readonly init?: Initializer
  /** `false` leaves the bias out. @default zeros */
  readonly biasInit?: Initializer | false
  /** L2 penalty on the weight (not on the bias), applied by the optimizer. */
  readonly l2?: number
}

/** activation(x W + b) over the last axis. */
export function linear(
  x: Tensor,
  { name, out, activation, init = { kind: 'xavier_uniform' }, biasInit = { kind: 'zeros' }, l2 }: LinearOptions,
): Tensor {
  const { builder } = x
  const width = widthOf(x, `linear ${name}`)
  const weight = builder.parameter({
    name: `${name}.weight`,
    shape: [width, out],
    init,
    ...(l2 !== undefined && { l2 }),
  })
  const bias = biasInit && builder.parameter({ name: `${name}.bias`, shape: [out], init: biasInit })
  return affine(x, weight, bias || undefined, activation)
}

/** activation(x W + b) over the last axis, with a weight [in, out] and a bias [out] that exist already. */
export function affine(x: Tensor, weight: Tensor, bias?: Tensor, activation?: Activation): Tensor {
  const flat = reshape(x, [-1, weight.shape[0]!])
  const y = reshape(gemm(flat, weight, bias ? { bias } : {}), [...x.shape.slice(0, -1), weight.shape[1]!])
  return activation ? ACTIVATIONS[activation](y) : y
}

export interface MlpOptions extends Omit<LinearOptions, 'out' | 'activation'> {
  /** Columns of each layer. */
  readonly sizes: readonly number[]
  /** After every layer but the last. @default 'relu' */
  readonly activation?: Activation
  /** After the last layer. @default none */
  readonly lastActivation?: Activation
}

/** A stack of linear layers named `<name>.0`, `<name>.1`, ... */
export function mlp(x: Tensor, { name, sizes, activation = 'relu', lastActivation, ...options }: MlpOptions): Tensor {
  return sizes.reduce((input, out, i) => {
    const act = i < sizes.length - 1 ? activation : lastActivation
    return linear(input, { ...options, name: `${name}.${i}`, out, ...(act && { activation: act }) })
  }, x)
}
