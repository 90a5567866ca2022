/** @file Activations by the names that layers and configs use, and those with parameters of their own. */
import { optionError, refuseOptions, suggest } from '../../base/util/index.ts'
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
/** An activation by its name. */
export type Activation = keyof typeof ACTIVATIONS

/** The function of a name, which a model without types may have mistyped. */
export function activationOf(name: Activation): (x: Tensor) => Tensor {
  if (Object.hasOwn(ACTIVATIONS, name)) return ACTIVATIONS[name]
  const names = Object.keys(ACTIVATIONS)
  const guess = suggest(String(name), names)
  throw optionError(
    `there is no activation "${name}"; activations: ${names.join(', ')}`,
    guess ? `Did you mean '${guess}'?` : 'Choose one of these.',
  )
}

/** x where positive, else slope * x with one learned slope per column, `<name>.slope`. */
export function prelu(x: Tensor, { name, init = 0.25, ...rest }: { name: string; init?: number }): Tensor {
  refuseOptions('nn.prelu', rest, { name: true, init: true })
  const slope = x.builder.parameter({
    name: `${name}.slope`,
    shape: [widthOf(x, name)],
    init: { kind: 'constant', value: init },
  })
  return preluOp(x, slope)
}
