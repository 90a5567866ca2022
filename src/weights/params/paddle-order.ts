/** @file Dense weights between our order and Paddle's: theirs go by name, which puts a layer's bias before its weight. */
import { UserError } from '../../base/util/index.ts'
import type { DenseEntry } from './dense-layout.ts'

/** Entries in the order of Paddle's merged dense table: layer by layer, bias first. State of the program stays behind. */
export function paddleOrder(entries: readonly DenseEntry[]): readonly DenseEntry[] {
  const parameters = entries.filter(({ kind }) => kind === 'parameter')
  const layers = new Map<string, DenseEntry[]>()
  for (const entry of parameters) {
    const layer = entry.name.replace(/[./][^./]*$/, '')
    layers.set(layer, [...(layers.get(layer) ?? []), entry])
  }
  // A vector is a bias; several of one kind keep their order.
  const vectorsFirst = (own: DenseEntry[]) => [
    ...own.filter(({ shape }) => shape.length < 2),
    ...own.filter(({ shape }) => shape.length >= 2),
  ]
  return [...[...layers.values()].flatMap(vectorsFirst), ...entries.filter(({ kind }) => kind === 'state')]
}

/** A weight as Paddle saves it: a name such as `linear_0.w_0`, and its shape. */
export interface PaddleVar {
  readonly name: string
  readonly dims: readonly number[]
}

/** A parameter's name as a file may have it. */
export const varName = (parameter: string): string => parameter.replaceAll('/', '@')

/** Which variable each parameter is: by our own names, else both in the order of their layers; of the same shapes. */
export function matchVars<V extends PaddleVar>(
  vars: readonly V[],
  entries: readonly DenseEntry[],
  folder: string,
): ReadonlyMap<DenseEntry, V> {
  const parameters = entries.filter(({ kind }) => kind === 'parameter')
  const named = new Map(vars.map((one) => [one.name, one]))
  const ours = parameters.every(({ name }) => named.has(varName(name)))
  const sorted = ours
    ? parameters.map(({ name }) => named.get(varName(name))!)
    : [...vars].sort((a, b) => compareKeys(layerKey(a.name), layerKey(b.name)))
  const text = (dims: readonly number[]) => `[${dims.join(', ')}]`
  if (sorted.length !== parameters.length)
    throw otherWeights(folder, `it has ${sorted.length} variables, the model has ${parameters.length} parameters`)
  return new Map(
    parameters.map((entry, i) => {
      const found = sorted[i]!
      if (text(found.dims) !== text(entry.shape))
        throw otherWeights(
          folder,
          `${found.name} has shape ${text(found.dims)} where ${entry.name} has ${text(entry.shape)}`,
        )
      return [entry, found] as const
    }),
  )
}

/** linear_10.b_0: after linear_2, and after its own weight. */
function layerKey(name: string): readonly (number | string)[] {
  const [layer = '', variable = ''] = name.split('.')
  const numbers = /^(.*?)_?(\d+)$/.exec(layer)
  return [numbers?.[1] ?? layer, Number(numbers?.[2] ?? 0), variable.startsWith('w') ? 0 : 1, variable]
}

function compareKeys(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  const at = a.findIndex((key, i) => key !== b[i])
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1
}

export function otherWeights(folder: string, difference: string): UserError {
  return new UserError(`the dense weights in ${folder} are of another model: ${difference}`, {
    code: 'PADDLE_FILES_DENSE',
    hint: 'use the hyper_parameters that the model was trained with; layers are matched in order, by their shapes',
  })
}
