/** @file Accessors as the segment kernel sees them: a row layout, a rule for each part of a row, and when rows come and go. */
import { type RowPrecision, weightBytes } from './row-weights.ts'

/** Paddle's sparse rules by the numbers assembly/accessor-rules.ts uses. */
export const SPARSE_RULES = {
  SparseNaiveSGDRule: 0,
  SparseAdaGradSGDRule: 1,
  StdAdaGradSGDRule: 2,
  SparseAdaGradV2SGDRule: 3,
  SparseAdamSGDRule: 4,
  SparseSharedAdamSGDRule: 5,
} as const
export type SparseRuleName = keyof typeof SPARSE_RULES

/** A rule with its constants; each looks only at those it knows. */
export interface SparseRule {
  readonly name: SparseRuleName
  readonly learningRate: number
  /** New weights are uniform in plus or minus this. */
  readonly initialRange: number
  readonly initialG2sum: number
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  /** Weights are held between these after every step. */
  readonly bounds: readonly [low: number, high: number]
}

export const ACCESSORS = ['SparseAccessor', 'CtrCommonAccessor', 'CtrDoubleAccessor'] as const
export type AccessorName = (typeof ACCESSORS)[number]

/** Which signs get a row: those seen often enough, or each time with a chance. */
export type Admission =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'probability'; readonly probability: number }

/** Everything a table of rows with show and click does: plain data, made by table/accessor-config.ts. */
export interface AccessorConfig {
  readonly accessor: AccessorName
  /** Weights besides the first. */
  readonly embedxDim: number
  /** Score from which they are made. */
  readonly embedxThreshold: number
  readonly embed: SparseRule
  readonly embedx: SparseRule
  readonly nonclkCoeff: number
  readonly clickCoeff: number
  readonly baseThreshold: number
  readonly deltaThreshold: number
  readonly deltaKeepDays: number
  readonly showClickDecayRate: number
  readonly deleteThreshold: number
  readonly deleteAfterUnseenDays: number
  /** AdaGrad's gradients are divided by show. */
  readonly showScale: boolean
  /** The first weight of a new row is zero. */
  readonly zeroInit: boolean
  readonly admission?: Admission
  /** How weights are kept. @default float32 */
  readonly precision?: RowPrecision
}

/** The parts of the segment kernel that only accessors use. */
export interface AccessorKernel {
  setPart(
    part: number,
    rule: number,
    rate: number,
    g2sum: number,
    range: number,
    beta1: number,
    beta2: number,
    epsilon: number,
    low: number,
    high: number,
  ): void
  setAccessor(
    seed: bigint,
    leading: number,
    embedx: number,
    wide: number,
    threshold: number,
    nonclk: number,
    click: number,
    showScale: number,
    zeroInit: number,
    entry: number,
    entryValue: number,
  ): void
  setKeeping(base: number, delta: number, days: number, decay: number, threshold: number, unseenDays: number): void
  pull(signs: number, n: number, addresses: number, rows: number): void
  push(
    signs: number,
    n: number,
    addresses: number,
    gradients: number,
    shown: number,
    scale: number,
    draw: bigint,
  ): number
  settle(mode: number): void
  shrink(): number
}

/** Columns of show and click before the weights in what a pull gives. */
export function leadingColumns({ accessor }: Pick<AccessorConfig, 'accessor'>): 0 | 2 {
  return accessor === 'SparseAccessor' ? 0 : 2
}

/** Floats of state that `n` weights carry. */
export function stateFloats(rule: SparseRuleName, n: number): number {
  return STATE_FLOATS[rule](n)
}

const STATE_FLOATS: { readonly [R in SparseRuleName]: (n: number) => number } = {
  SparseNaiveSGDRule: () => 0,
  SparseAdaGradSGDRule: () => 1,
  StdAdaGradSGDRule: (n) => n,
  SparseAdaGradV2SGDRule: () => 1,
  SparseAdamSGDRule: (n) => 2 * n + 2,
  SparseSharedAdamSGDRule: () => 4,
}

/** Where the parts of a row lie, in floats; `counts` are show and click, each `countFloats` long. */
export interface AccessorRow {
  /** How many weights there are; they lie at the row's start. */
  readonly weights: number
  readonly embedState: number
  readonly embedxState: number
  /** slot, unseen_days, delta_score (float32), flags, seen (u32). */
  readonly stats: number
  readonly counts: number
  readonly countFloats: 1 | 2
  readonly floats: number
}

/** Flags of a row. */
export const HAS_EMBEDX = 1
export const ADMITTED = 2

export function accessorRow({ accessor, embedxDim, embed, embedx, precision }: AccessorConfig): AccessorRow {
  const weights = 1 + embedxDim
  const embedState = weightBytes(weights, precision) / 4
  const embedxState = embedState + stateFloats(embed.name, 1)
  const stats = embedxState + stateFloats(embedx.name, embedxDim)
  const countFloats = accessor === 'CtrDoubleAccessor' ? 2 : 1
  const counts = stats + 5
  return { weights, embedState, embedxState, stats, counts, countFloats, floats: counts + 2 * countFloats }
}

/** Sets a segment's kernel up for rows of an accessor. */
export function configureAccessor(kernel: AccessorKernel, config: AccessorConfig, seed: bigint): void {
  for (const [part, rule] of [config.embed, config.embedx].entries()) {
    const { learningRate, initialG2sum, initialRange, beta1, beta2, epsilon, bounds } = rule
    const constants = [learningRate, initialG2sum, initialRange, beta1, beta2, epsilon] as const
    kernel.setPart(part, SPARSE_RULES[rule.name], ...constants, ...bounds)
  }
  const [entry, value] = admissionConstants(config.admission)
  kernel.setAccessor(
    BigInt.asIntN(64, seed),
    leadingColumns(config),
    config.embedxDim,
    config.accessor === 'CtrDoubleAccessor' ? 1 : 0,
    config.embedxThreshold,
    config.nonclkCoeff,
    config.clickCoeff,
    config.showScale ? 1 : 0,
    config.zeroInit ? 1 : 0,
    entry,
    value,
  )
  kernel.setKeeping(
    config.baseThreshold,
    config.deltaThreshold,
    config.deltaKeepDays,
    config.showClickDecayRate,
    config.deleteThreshold,
    config.deleteAfterUnseenDays,
  )
}

function admissionConstants(admission: Admission | undefined): readonly [entry: number, value: number] {
  if (!admission) return [0, 0]
  return admission.kind === 'count' ? [1, admission.count] : [2, admission.probability]
}
