/** @file Activations by the names that layers and configs use, and those with parameters of their own. */
import {
  gelu,
  leakyRelu,
  prelu as preluOp,
  relu,
  sigmoid,
  softmax,
  softplus,
  type Tensor,
  tanh,
} from '../program/index.ts'
import { widthOf } from './shape.ts'

export const ACTIVATIONS = {
  relu,
  leaky_relu: (x: Tensor) => leakyRelu(x),
  sigmoid,
  tanh,
  gelu,
  softplus,
  softmax: (x: Tensor) => softmax(x, -1),
} as const satisfies Record<string, (x: Tensor) => Tensor>
export type Activation = keyof typeof ACTIVATIONS

/** x where positive, else slope * x with one learned slope per column, `<name>.slope`. */
export function prelu(x: Tensor, { name, init = 0.25 }: { name: string; init?: number }): Tensor {
  const slope = x.builder.parameter({
    name: `${name}.slope`,
    shape: [widthOf(x, name)],
    init: { kind: 'constant', value: init },
  })
  return preluOp(x, slope)
}
