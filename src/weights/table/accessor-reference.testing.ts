/** @file An accessor table as plain objects: slow and plain to read, what the kernel (assembly/accessor.ts) is compared with. */
import { type AccessorConfig, leadingColumns, type SparseRule } from '../../base/kernel/index.ts'
import { GOLDEN, mix64 } from '../../base/util/index.ts'
import type { AccessorRow, PartState } from './accessor-row.ts'
import { applySparseRule, boundedTo, initialState, type Round } from './accessor-rules.testing.ts'
import { byChance, nearest } from './precision-reference.testing.ts'

/** slot, show and click of one sign in one push. */
export type Shown = readonly [slot: number, show: number, click: number]

export class AccessorReference {
  readonly rows = new Map<bigint, AccessorRow>()
  readonly #config: AccessorConfig
  readonly #seed: bigint
  readonly #store: Round
  readonly #storeCount: Round

  /** `seed` is the table's own. With `store` the identity everything is float64. @default float32 as the kernel stores */
  constructor(config: AccessorConfig, seed: bigint, store: Round = Math.fround) {
    this.#config = config
    this.#seed = seed
    this.#store = store
    this.#storeCount = config.accessor === 'CtrDoubleAccessor' ? (value) => value : store
  }

  /** What a pull gives of a sign: show and click where the accessor leads with them, then weights; nothing is created. */
  pull(sign: bigint): number[] {
    const { embedxDim } = this.#config
    const row = this.rows.get(sign)
    const leading = leadingColumns(this.#config)
    if (!row?.admitted) return new Array<number>(leading + 1 + embedxDim).fill(0)
    const rest = row.embedx?.weights ?? new Array<number>(embedxDim).fill(0)
    const counts = leading === 0 ? [] : [this.#store(row.show), this.#store(row.click)]
    return [...counts, ...row.embed.weights, ...rest]
  }

  /** Counts a sign as seen and applies the gradients of all pulled columns, `scale` times. */
  push(sign: bigint, gradients: readonly number[], [slot, show, click]: Shown, scale: number, draw: bigint): void {
    const row = this.rows.get(sign) ?? (this.#admits(sign, draw) ? this.#create(sign) : undefined)
    if (!row) return
    const { admission, showScale, embed, embedx, embedxThreshold, embedxDim } = this.#config
    row.show = this.#storeCount(row.show + show)
    row.click = this.#storeCount(row.click + click)
    row.slot = slot
    row.unseenDays = 0
    row.deltaScore = this.#store(row.deltaScore + this.#score(show, click))
    row.seen++
    if (!row.admitted && admission?.kind === 'count' && row.seen < admission.count) return
    row.admitted = true
    const [first = 0, ...others] = gradients.slice(leadingColumns(this.#config)).map((g) => scale * g)
    const divisor = showScale && show > 0 ? show : 1
    applySparseRule(embed, row.embed.weights, row.embed.state, [first], divisor, this.#store)
    if (embedxDim > 0) {
      if (row.embedx) applySparseRule(embedx, row.embedx.weights, row.embedx.state, others, divisor, this.#store)
      else if (this.#score(row.show, row.click) >= embedxThreshold) row.embedx = this.#embedx(sign)
    }
    if (this.#config.precision === 'bfloat16') this.#round(row, sign, draw)
  }

  #round({ embed, embedx }: AccessorRow, sign: bigint, draw: bigint): void {
    const all = [...embed.weights, ...(embedx?.weights ?? [])]
    const [first, ...others] = byChance(all, { seed: this.#seed, sign, step: Number(draw) })
    embed.weights[0] = first!
    embedx?.weights.splice(0, others.length, ...others)
  }

  /** Whether save mode `mode` writes a row. */
  saved({ admitted, show, click, deltaScore, unseenDays }: AccessorRow, mode: number): boolean {
    const { baseThreshold, deltaThreshold, deltaKeepDays } = this.#config
    if (!admitted || (mode !== 1 && mode !== 2)) return admitted
    const gained = deltaScore >= (mode === 1 ? deltaThreshold : 0)
    return this.#score(show, click) >= baseThreshold && gained && unseenDays <= deltaKeepDays
  }

  /** What a save of `mode` changes once it is done. */
  settle(mode: number): void {
    for (const row of this.rows.values()) {
      if (mode === 3) row.unseenDays++
      else if ((mode === 1 || mode === 2) && this.saved(row, mode)) row.deltaScore = 0
    }
  }

  /** A day has passed; returns how many rows went. */
  shrink(): number {
    const { showClickDecayRate, deleteThreshold, deleteAfterUnseenDays } = this.#config
    const before = this.rows.size
    for (const [sign, row] of this.rows) {
      row.show = this.#storeCount(row.show * showClickDecayRate)
      row.click = this.#storeCount(row.click * showClickDecayRate)
      if (this.#score(row.show, row.click) < deleteThreshold || row.unseenDays > deleteAfterUnseenDays)
        this.rows.delete(sign)
    }
    return before - this.rows.size
  }

  #score(show: number, click: number): number {
    const { nonclkCoeff, clickCoeff } = this.#config
    return (show - click) * nonclkCoeff + click * clickCoeff
  }

  #admits(sign: bigint, draw: bigint): boolean {
    const { admission } = this.#config
    if (admission?.kind !== 'probability') return true
    const bits = mix64(mix64(sign ^ this.#seed) + draw * GOLDEN)
    return Number(bits >> 11n) / 2 ** 53 < admission.probability
  }

  #create(sign: bigint): AccessorRow {
    const { embed, zeroInit } = this.#config
    const drawn = zeroInit ? 0 : this.#drawn(embed, sign, 0)
    const first = this.#config.precision === 'bfloat16' ? nearest(drawn) : drawn
    const row = {
      slot: -1,
      unseenDays: 0,
      deltaScore: 0,
      show: 0,
      click: 0,
      seen: 0,
      admitted: false,
      embed: { weights: [first], state: initialState(embed, 1, this.#store) },
    }
    this.rows.set(sign, row)
    return row
  }

  #embedx(sign: bigint): PartState {
    const { embedx, embedxDim } = this.#config
    const weights = Array.from({ length: embedxDim }, (_, i) => this.#drawn(embedx, sign, i + 1))
    return { weights, state: initialState(embedx, embedxDim, this.#store) }
  }

  /** Weight number j of a row: a pure function of (seed, table, sign). */
  #drawn(rule: SparseRule, sign: bigint, j: number): number {
    const bits = mix64(mix64(sign ^ this.#seed) + BigInt((j >> 1) + 1) * GOLDEN)
    const half = Number(j % 2 === 1 ? (bits & 0xffffffffn) >> 8n : bits >> 40n)
    return boundedTo(rule, (half / 2 ** 23 - 1) * rule.initialRange, this.#store)
  }
}
