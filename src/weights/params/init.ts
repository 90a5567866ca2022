/** @file Initial values: of a dense parameter as numbers, of a table row as the rule its kernel follows. */
import type { RowInit } from '../../base/kernel/index.ts'
import { createRng, deriveSeed, type Rng } from '../../base/util/index.ts'
import type { Initializer } from '../../graph/program/index.ts'

/** Values of a parameter: a pure function of (seed, name, shape, initializer). */
export function initialValues(init: Initializer, shape: readonly number[], seed: number, name: string): Float32Array {
  const values = new Float32Array(shape.reduce((size, dim) => size * dim, 1))
  const rule = fixFans(init, shape[0] ?? 1, shape.at(-1) ?? 1)
  const draw = DRAW[rule.kind] as (rule: RowInit, rng: Rng) => number
  const rng = createRng(deriveSeed(seed, `parameter:${name}`))
  for (let i = 0; i < values.length; i++) values[i] = draw(rule, rng)
  return values
}

/** The rule of a row of `dim` weights. */
export function rowInit(init: Initializer, dim: number): RowInit {
  return fixFans(init, 1, dim)
}

const DRAW: { readonly [K in RowInit['kind']]: (rule: Extract<RowInit, { kind: K }>, rng: Rng) => number } = {
  constant: ({ value }) => value,
  uniform: ({ low, high }, rng) => low + (high - low) * rng.uniform(),
  normal: ({ mean, std }, rng) => mean + std * rng.normal(),
  truncated_normal: ({ mean, std }, rng) => {
    let z = rng.normal()
    while (Math.abs(z) > 2) z = rng.normal()
    return mean + std * z
  },
}

/** Xavier, Kaiming and LeCun as the plain distributions they are once fan-in and fan-out are known. */
function fixFans(init: Initializer, fanIn: number, fanOut: number): RowInit {
  const uniform = (limit: number): RowInit => ({ kind: 'uniform', low: -limit, high: limit })
  const normal = (std: number): RowInit => ({ kind: 'normal', mean: 0, std })
  switch (init.kind) {
    case 'zeros':
      return { kind: 'constant', value: 0 }
    case 'xavier_uniform':
      return uniform(Math.sqrt(6 / (fanIn + fanOut)))
    case 'xavier_normal':
      return normal(Math.sqrt(2 / (fanIn + fanOut)))
    case 'kaiming_uniform':
      return uniform(Math.sqrt(6 / fanIn))
    case 'kaiming_normal':
      return normal(Math.sqrt(2 / fanIn))
    case 'lecun_normal':
      return normal(Math.sqrt(1 / fanIn))
    default:
      return init
  }
}
