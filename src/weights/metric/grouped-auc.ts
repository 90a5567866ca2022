/**
 * @file AUC within groups of samples, such as those of one user: a small histogram a group, mergeable over threads, workers and runs.
 * Memory is bounded by keeping groups whose hash ends in zeros, of which there are half as many with each further zero. Which
 * groups remain follows from all samples alone, not from their order nor from who counted them.
 */
import { mix64 } from '../../base/util/index.ts'
import { AUC_BUCKETS, AUC_THRESHOLDS, aucOf } from './auc.ts'

/** Pairs of a group and a bucket that are kept at most: some 25 MB a thread and metric. */
export const GROUP_ENTRIES = 262_144

/** A group with more buckets than this keeps all of them in a plain histogram. */
const FEW_BUCKETS = 48
const HEADER = 3
const EACH = 1
const WEIGHTED = 2

/** Counts of one group: `bucket, positives, negatives` for each bucket seen, or a whole histogram. */
type Counts = number[] | Float64Array

/** The samples of one group. */
export interface Group {
  /** What its samples have in common: the sign of a slot, a whole number. */
  readonly key: bigint
  readonly positives: number
  readonly negatives: number
  readonly auc: number
}

export class GroupedAuc {
  readonly #groups = new Map<bigint, Counts>()
  readonly #limit: number
  /** Whether groups are reported one by one; else their mean is. */
  readonly each: boolean
  /** Whether samples count by a weight, so that positives and negatives are sums of weights. */
  readonly isWeighted: boolean
  #level = 0
  #entries = 0

  constructor(limit: number, each: boolean, isWeighted = false) {
    this.#limit = limit
    this.each = each
    this.isWeighted = isWeighted
  }

  /** What several have counted, each as `state()` gave it. */
  static merged(states: readonly Float64Array[]): GroupedAuc {
    const [limit = GROUP_ENTRIES, , kind = 0] = states[0] ?? []
    const sum = new GroupedAuc(limit, (kind & EACH) !== 0, (kind & WEIGHTED) !== 0)
    for (const state of states) sum.#merge(state)
    return sum
  }

  /** Of all groups one in so many was kept. 1: all of them. */
  get oneIn(): number {
    return 2 ** this.#level
  }

  add(key: bigint, prediction: number, isPositive: boolean, weight = 1): void {
    if (weight === 0 || !(prediction >= 0 && prediction <= 1) || !this.#keeps(key)) return
    this.#count(key, Math.floor(prediction * AUC_THRESHOLDS), isPositive ? weight : 0, isPositive ? 0 : weight)
  }

  /** Plain numbers: limit, level, kind (EACH and WEIGHTED); then by group its key in two halves, how many buckets, and these. */
  state(): Float64Array {
    const kind = (this.each ? EACH : 0) | (this.isWeighted ? WEIGHTED : 0)
    const flat: number[] = [this.#limit, this.#level, kind]
    for (const [key, counts] of this.#groups) {
      const buckets = bucketsOf(counts)
      flat.push(Number(key >> 32n), Number(key & 0xffffffffn), buckets.length / 3)
      for (const number of buckets) flat.push(number)
    }
    return Float64Array.from(flat)
  }

  /** Those with samples of both kinds, the largest first. */
  groups(): Group[] {
    const all = [...this.#groups].map(([key, counts]) => groupOf(key, counts))
    return all.sort((a, b) => b.positives + b.negatives - a.positives - a.negatives || (a.key < b.key ? -1 : 1))
  }

  /** The mean of the groups' areas, each counted as often as it has samples; 0.5 where no group has samples of both kinds. */
  mean(): number {
    let [sum, samples] = [0, 0]
    for (const { positives, negatives, auc } of this.groups()) {
      if (positives === 0 || negatives === 0) continue
      sum += auc * (positives + negatives)
      samples += positives + negatives
    }
    return samples > 0 ? sum / samples : 0.5
  }

  #merge(state: Float64Array): void {
    this.#level = Math.max(this.#level, state[1] ?? 0)
    this.#drop()
    for (let at = HEADER; at < state.length; ) {
      const key = (BigInt(state[at]!) << 32n) | BigInt(state[at + 1]!)
      const end = at + HEADER + 3 * state[at + 2]!
      const kept = this.#keeps(key)
      for (at += HEADER; at < end; at += 3) if (kept) this.#count(key, state[at]!, state[at + 1]!, state[at + 2]!)
    }
  }

  #count(key: bigint, bucket: number, positives: number, negatives: number): void {
    const known = this.#groups.get(key)
    const counts = known === undefined || known.length < 3 * FEW_BUCKETS ? known : spread(known)
    if (counts === undefined) this.#groups.set(key, [bucket, positives, negatives])
    else if (counts !== known) this.#groups.set(key, counts)
    if (counts === undefined || addTo(counts, bucket, positives, negatives)) this.#entries++
    while (this.#entries > this.#limit && this.#level < MOST_LEVELS) {
      this.#level++
      this.#drop()
    }
  }

  #keeps(key: bigint): boolean {
    return this.#level === 0 || (mix64(key) & ((1n << BigInt(this.#level)) - 1n)) === 0n
  }

  #drop(): void {
    for (const [key, counts] of this.#groups) {
      if (this.#keeps(key)) continue
      this.#entries -= bucketsOf(counts).length / 3
      this.#groups.delete(key)
    }
  }
}

/** By then a single group has more buckets than the limit: it stays. */
const MOST_LEVELS = 40

/** True when the bucket is new to the group. */
function addTo(counts: Counts, bucket: number, positives: number, negatives: number): boolean {
  if (Array.isArray(counts)) {
    for (let at = 0; at < counts.length; at += 3) {
      if (counts[at] !== bucket) continue
      counts[at + 1]! += positives
      counts[at + 2]! += negatives
      return false
    }
    counts.push(bucket, positives, negatives)
    return true
  }
  const negative = AUC_BUCKETS / 2 + bucket
  const isNew = counts[bucket] === 0 && counts[negative] === 0
  counts[bucket]! += positives
  counts[negative]! += negatives
  return isNew
}

function spread(counts: Counts): Float64Array {
  if (!Array.isArray(counts)) return counts
  const histogram = new Float64Array(AUC_BUCKETS)
  for (let at = 0; at < counts.length; at += 3) addTo(histogram, counts[at]!, counts[at + 1]!, counts[at + 2]!)
  return histogram
}

function bucketsOf(counts: Counts): readonly number[] {
  if (Array.isArray(counts)) return counts
  const found: number[] = []
  for (let bucket = 0; bucket <= AUC_THRESHOLDS; bucket++) {
    const [positives, negatives] = [counts[bucket]!, counts[AUC_BUCKETS / 2 + bucket]!]
    if (positives !== 0 || negatives !== 0) found.push(bucket, positives, negatives)
  }
  return found
}

function groupOf(key: bigint, counts: Counts): Group {
  const buckets = bucketsOf(counts)
  // The area needs the order of buckets alone: a histogram of those that are there.
  const order = Array.from({ length: buckets.length / 3 }, (_, i) => 3 * i).sort((a, b) => buckets[a]! - buckets[b]!)
  const [up, down] = [order.map((at) => buckets[at + 1]!), order.map((at) => buckets[at + 2]!)]
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
  return { key, positives: total(up), negatives: total(down), auc: aucOf(Float64Array.from([...up, ...down])) }
}

/** States of several, by metric, as one each. */
export function mergedGroups(all: readonly Readonly<Record<string, Float64Array>>[]): Record<string, Float64Array> {
  const names = new Set(all.flatMap((groups) => Object.keys(groups)))
  const states = (name: string) => all.flatMap((groups) => groups[name] ?? [])
  const merged = (own: readonly Float64Array[]) => (own.length === 1 ? own[0]! : GroupedAuc.merged(own).state())
  return Object.fromEntries([...names].map((name) => [name, merged(states(name))]))
}
