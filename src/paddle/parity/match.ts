/** @file Which of Paddle's weights is which of the model's: by name, else by order among those of one shape. */
import type { DenseEntry } from '../../weights/params/index.ts'
import type { PaddleWeight } from './pdparams.ts'

/** A weight of the model: one of the dense block, or a table. */
export type Wanted =
  | { readonly kind: 'dense'; readonly name: string; readonly shape: readonly number[]; readonly entry: DenseEntry }
  | { readonly kind: 'table'; readonly name: string; readonly dim: number }

export type Match = {
  readonly wanted: Wanted
} & (
  | { readonly kind: 'matched'; readonly weight: PaddleWeight; readonly how: 'name' | 'order' }
  | { readonly kind: 'shape'; readonly weight: PaddleWeight }
  | { readonly kind: 'missing' }
)

export interface Matches {
  readonly matches: readonly Match[]
  /** What the file has beside them. */
  readonly extra: readonly PaddleWeight[]
}

/** Names of a static graph are counters by kind of layer, so they say nothing of the model's: then the order of layers decides. */
export function matchWeights(weights: readonly PaddleWeight[], wanted: readonly Wanted[]): Matches {
  const named = new Map(weights.map((weight) => [weight.name, weight]))
  const byName = wanted.map((own) => namesOf(own).flatMap((name) => named.get(name) ?? [])[0])
  const used = new Set(byName.filter((weight) => weight !== undefined))
  const structured = used.size * 2 >= wanted.length
  const rest = weights.filter((weight) => !used.has(weight)).sort((a, b) => compareNames(a.name, b.name))
  const matches = wanted.map((own, i): Match => {
    const found = byName[i]
    if (found)
      return fits(own, found)
        ? { kind: 'matched', wanted: own, weight: found, how: 'name' }
        : { kind: 'shape', wanted: own, weight: found }
    const alike = rest.findIndex((weight) => fits(own, weight) && KINDS[kindOf(own)].test(weight.name))
    const next = structured ? -1 : alike >= 0 ? alike : rest.findIndex((weight) => fits(own, weight))
    if (next < 0) return { kind: 'missing', wanted: own }
    return { kind: 'matched', wanted: own, weight: rest.splice(next, 1)[0]!, how: 'order' }
  })
  return { matches, extra: rest }
}

/** How counters of a static graph are called, by what they count. */
const KINDS = {
  bias: /\.b_\d+$/,
  weight: /^(?!create_parameter|embedding).*\.w_\d+$/,
  table: /^(?!create_parameter|linear)/,
  other: /^create_parameter/,
} as const

function kindOf({ kind, name }: Wanted): keyof typeof KINDS {
  if (kind === 'table') return 'table'
  return name.endsWith('.bias') ? 'bias' : name.endsWith('.weight') ? 'weight' : 'other'
}

/** How Paddle may call it: statistics of a batch norm have other names there. */
function namesOf({ kind, name }: Wanted): readonly string[] {
  if (kind === 'table') return [`${name}.weight`, name]
  return [name, name.replace(/running_mean$/, '_mean').replace(/running_variance$/, '_variance')]
}

function fits(wanted: Wanted, { shape }: PaddleWeight): boolean {
  if (wanted.kind === 'table') return shape.length === 2 && shape[1] === wanted.dim
  return shape.join() === wanted.shape.join()
}

/** linear_2.w_0 before linear_10.w_0, a weight before its bias. */
function compareNames(a: string, b: string): number {
  const key = (name: string) => name.replace(/\.b_/, '.z_')
  return key(a).localeCompare(key(b), 'en', { numeric: true })
}
