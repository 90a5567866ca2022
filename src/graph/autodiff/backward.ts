/** @file Reverse-mode differentiation: walks a program from its loss to its inputs, applying one rule a node. */

import { UserError } from '../../base/util/index.ts'
import {
  add,
  Builder,
  constant,
  expand,
  type OpKind,
  operandsOf,
  ownFetches,
  type Program,
  sizeOf,
  type Tensor,
} from '../program/index.ts'
import { resolvePhase } from './phase.ts'
import { GRADIENT_RULES, type GradientRule, type GradientRules } from './rules.ts'
import { simplify } from './simplify.ts'

export interface BackwardOptions {
  readonly rules?: GradientRules | undefined
  /** Weights that the loss does not depend on get a gradient of zeros, or none. @default 'zeros' */
  readonly unreached?: 'zeros' | 'none' | undefined
}

/** The program plus a fetch `grad:<name>` for every trainable parameter and every rows input. */
export function backward(
  program: Program,
  lossFetch: string,
  { rules = GRADIENT_RULES, unreached = 'zeros' }: BackwardOptions = {},
): Program {
  const traced = resolvePhase(program, 'training')
  const builder = Builder.from(traced)
  const loss = lossOf(traced, builder, lossFetch)
  const sources = [...traced.parameters.filter(({ trainable }) => trainable !== false), ...traced.rows]
  const gradients = new Map<number, Tensor>([[loss.id, expand(constant(builder, 1), loss.shape)]])
  const varying = dependents(traced, new Set(sources.map(({ value }) => value)))
  for (const { value, op, inputs } of traced.nodes.toReversed()) {
    const g = gradients.get(value)
    if (!g || !varying.has(value)) continue
    const operands = operandsOf({ inputs }, (id) => builder.tensor(id))
    const parts = (rules[op.kind] as GradientRule<OpKind>)(g, { op, inputs: operands, y: builder.tensor(value) })
    parts.forEach((part, i) => {
      const id = inputs[i]!
      if (part && varying.has(id)) gradients.set(id, gradients.has(id) ? add(gradients.get(id)!, part) : part)
    })
  }
  const fetches = ownFetches(traced).map(({ name, value }) => [name, builder.tensor(value)] as const)
  const outputs = sources
    .filter(({ value }) => unreached === 'zeros' || gradients.has(value))
    .map(({ name, value, shape }) => {
      const gradient = gradients.get(value) ?? expand(constant(builder, 0), shape)
      return [inputGradientName(name), gradient] as const
    })
  return simplify(builder.build(Object.fromEntries([...fetches, ...outputs])))
}

/** The name of the fetch that holds an input's gradient. */
export function inputGradientName(name: string): string {
  return `grad:${name}`
}

/** Float values that change when a source changes: the only ones whose gradient anybody needs. */
function dependents(program: Program, sources: ReadonlySet<number>): ReadonlySet<number> {
  const found = new Set(sources)
  for (const { value, inputs, dtype } of program.nodes) {
    if (dtype.startsWith('float') && inputs.some((id) => found.has(id))) found.add(value)
  }
  return found
}

function lossOf(program: Program, builder: Builder, name: string): Tensor {
  const fetch = program.fetches.find((candidate) => candidate.name === name)
  if (!fetch) {
    const known = program.fetches.map((candidate) => candidate.name).join(', ')
    throw new UserError(`The program has no fetch named "${name}" to differentiate.`, {
      code: 'AUTODIFF_LOSS',
      hint: `Its fetches are: ${known}.`,
    })
  }
  if (sizeOf(fetch.shape) !== 1) {
    throw new UserError(`The loss "${name}" has the shape [${fetch.shape.join(', ')}]; it must be one number.`, {
      code: 'AUTODIFF_LOSS',
      hint: 'Take mean(loss) or sum(loss).',
    })
  }
  return builder.tensor(fetch.value)
}
