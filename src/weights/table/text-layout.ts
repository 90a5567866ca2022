/** @file Which value stands where in a line of a table file: Paddle's order of columns, and where each lies in a row here. */
import {
  type AccessorConfig,
  accessorRow,
  type SparseRuleName,
  stateFloats,
  weightBytes,
} from '../../base/kernel/index.ts'
import type { SparseTable } from './table.ts'

/** Where a column's value lies in a row: which of its weights, floats from its start, or a constant that rows here do not have. */
export type Column =
  | { readonly kind: 'weight' | 'float' | 'double'; readonly at: number }
  | { readonly kind: 'constant'; readonly value: number }

export interface TextLayout {
  /** What every line has. */
  readonly head: readonly Column[]
  /** What follows once embedx is made. */
  readonly tail: readonly Column[]
  /** Says what rows hold, in words. */
  readonly text: string
}

/** Columns of an accessor's rows. */
export function accessorLayout(config: AccessorConfig): TextLayout {
  const { accessor, embed, embedx } = config
  const row = accessorRow(config)
  const [slot, unseen, delta] = floats(row.stats, row.stats + 3)
  const kind = row.countFloats === 2 ? 'double' : 'float'
  const counts = [0, 1].map((i): Column => ({ kind, at: row.counts + i * row.countFloats }))
  const embedState = floats(row.embedState, row.embedxState)
  const [first, weights] = [places('weight', 0, 1), places('weight', 1, row.weights)]
  const state = floats(row.embedxState, row.stats)
  const text = `${accessor} with ${embed.name} and ${embedx.name}, embedx_dim ${config.embedxDim}`
  // CtrDoubleAccessor has slot and embedx's state elsewhere.
  if (accessor === 'CtrDoubleAccessor')
    return {
      head: [unseen!, delta!, ...counts, ...first, ...embedState, slot!],
      tail: [...state, ...weights],
      text,
    }
  return {
    head: [slot!, unseen!, delta!, ...counts, ...first, ...embedState],
    tail: [...weights, ...state],
    text,
  }
}

function floats(from: number, to: number): Column[] {
  return places('float', from, to)
}

function places(kind: 'weight' | 'float', from: number, to: number): Column[] {
  return Array.from({ length: to - from }, (_, i) => ({ kind, at: from + i }))
}

/** State of a table without accessor that a rule of Paddle's has too: how many runs of `dim` floats. */
const RUNS: Partial<Record<SparseRuleName, number>> = {
  SparseNaiveSGDRule: 0,
  StdAdaGradSGDRule: 1,
  SparseAdamSGDRule: 2,
}

/** Powers of both betas that an Adam of `steps` steps is at. */
export type Powers = readonly [beta1: number, beta2: number]

/**
 * Columns of rows without accessor, as SparseAccessor with `rule` has them: weights, then runs of state. They know no counts:
 * slot 0, unseen 0, delta 0, show 1, click 0.
 */
export function plainLayout(
  { dim, precision }: Pick<SparseTable, 'dim' | 'precision'>,
  rule: SparseRuleName,
  powers: Powers,
): TextLayout {
  const runs = RUNS[rule] ?? 0
  const statesAt = weightBytes(dim, precision) / 4
  const constant = (value: number): Column => ({ kind: 'constant', value })
  const state = (from: number, to: number) =>
    Array.from({ length: runs }, (_, run) => floats(statesAt + run * dim + from, statesAt + run * dim + to)).flat()
  const ends = rule === 'SparseAdamSGDRule' ? powers.map(constant) : []
  return {
    head: [...[0, 0, 0, 1, 0].map(constant), ...places('weight', 0, 1), ...state(0, 1), ...ends],
    tail: dim === 1 ? [] : [...places('weight', 1, dim), ...state(1, dim), ...ends],
    text: `rows of dim ${dim} with ${rule}`,
  }
}

/** Weights of a line whose rule is not a table's own: what is read of it is a row's weights. */
export function weightsLayout(dim: number, rule: SparseRuleName): TextLayout {
  const skipped = (count: number) => new Array<Column>(count).fill({ kind: 'constant', value: 0 })
  return {
    head: [...skipped(5), ...places('weight', 0, 1), ...skipped(stateFloats(rule, 1))],
    tail: dim === 1 ? [] : [...places('weight', 1, dim), ...skipped(stateFloats(rule, dim - 1))],
    text: `rows of dim ${dim} with ${rule}`,
  }
}

export const lineValues = ({ head, tail }: TextLayout): number => head.length + tail.length
