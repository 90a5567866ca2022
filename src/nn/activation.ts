/** @file Activations by the names that layers and configs use. */
import { relu, sigmoid, softmax, type Tensor, tanh } from '../program/index.ts'

export const ACTIVATIONS = { relu, sigmoid, tanh, softmax: (x: Tensor) => softmax(x, -1) } as const satisfies Record<
  string,
  (x: Tensor) => Tensor
>
export type Activation = keyof typeof ACTIVATIONS
