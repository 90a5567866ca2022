/** @file Fully connected layers, named by their path: `fc0` has the parameters `fc0.weight` [in, out] and `fc0.bias` [out]. */

import { type OptionNames, refuseOptions, unknownOf } from '../../base/util/index.ts'
import { gemm, type Initializer, reshape, type Tensor } from '../program/index.ts'
import { type Activation, activationOf } from './activation.ts'
import { widthOf } from './shape.ts'

/** Options of linear. */
export interface LinearOptions {
  readonly name: string
  /** Columns of the result. */
  readonly out: number
  /** @default none */
  readonly activation?: Activation | undefined
  /** @default Xavier uniform */
  readonly init?: Initializer | undefined
  /** `false` leaves the bias out. @default zeros */
  readonly biasInit?: Initializer | false | undefined
  /** L2 penalty on the weight (not on the bias), applied by the optimizer. */
  readonly l2?: number | undefined
}

export const LINEAR: OptionNames<LinearOptions> = {
  name: true,
  out: true,
  activation: true,
  init: true,
  biasInit: true,
  l2: true,
}

/** activation(x W + b) over the last axis. */
export function linear(
  x: Tensor,
  {
    name,
    out,
    activation,
    init = { kind: 'xavier_uniform' },
    biasInit = { kind: 'zeros' },
    l2,
    ...rest
  }: LinearOptions,
): Tensor {
  refuseOptions('nn.linear', rest, LINEAR)
  const { builder } = x
  const width = widthOf(x, `linear ${name}`)
  const weight = builder.parameter({ name: `${name}.weight`, shape: [width, out], init, l2 })
  const bias = biasInit && builder.parameter({ name: `${name}.bias`, shape: [out], init: biasInit })
  return affine(x, weight, bias || undefined, activation)
}

/** activation(x W + b) over the last axis, with a weight [in, out] and a bias [out] that exist already. */
export function affine(x: Tensor, weight: Tensor, bias?: Tensor, activation?: Activation): Tensor {
  const flat = reshape(x, [-1, weight.shape[0]!])
  const y = reshape(gemm(flat, weight, { bias }), [...x.shape.slice(0, -1), weight.shape[1]!])
  return activation ? activationOf(activation)(y) : y
}

/** Options of mlp. */
export interface MlpOptions extends Omit<LinearOptions, 'out' | 'activation'> {
  /** Columns of each layer. */
  readonly sizes: readonly number[]
  /** After every layer but the last. @default 'relu' */
  readonly activation?: Activation | undefined
  /** After the last layer. @default none */
  readonly lastActivation?: Activation | undefined
}

export const MLP: OptionNames<MlpOptions> = {
  name: true,
  sizes: true,
  activation: true,
  lastActivation: true,
  init: true,
  biasInit: true,
  l2: true,
}

/** A stack of linear layers named `<name>.0`, `<name>.1`, ... */
export function mlp(x: Tensor, { name, sizes, activation = 'relu', lastActivation, ...options }: MlpOptions): Tensor {
  refuseOptions('nn.mlp', unknownOf(options, MLP), MLP)
  return sizes.reduce((input, out, i) => {
    const after = i < sizes.length - 1 ? activation : lastActivation
    return linear(input, { ...options, name: `${name}.${i}`, out, activation: after })
  }, x)
}
