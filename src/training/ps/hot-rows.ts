/** @file Which rows of a server are wanted most: counted in a sample of what is pulled, in memory that does not grow. */
import type { SignGroups } from '../../weights/params/index.ts'

/** One of so many pulled rows is counted, on the average: a fiftieth of what looking the rows up takes. */
export const SAMPLED = 256
/** Counts of two hashes of each sign, all tables together: 2 MB. */
const WIDTH = 2 ** 18
/** Rows of a table that are kept in mind: between so many and twice that. */
const KEPT = 1024
/** Who asks is given so many rows at most. */
export const MOST_HOT = 500

export interface HotRow {
  /** The sign, in decimal. */
  readonly key: string
  /** About how often it was pulled: chance makes it uncertain by some sixteen times its root, and others of the same hashes may add a little. */
  readonly pulls: number
}

/** What is known of one table. */
export interface HotTable {
  /** Rows pulled, those of all signs together. */
  readonly pulled: number
  /** The hottest first. */
  readonly rows: readonly HotRow[]
}

/**
 * How often signs were counted (a count-min sketch): a batch pulls a row once, so that even the hottest has a ten-thousandth of all pulls, and lists of
 * the most frequent signs alone would lose it among those that come once.
 */
class Counts {
  readonly #cells = new Uint32Array(2 * WIDTH)

  /** Counts one more; returns how often this sign was counted, never too few. */
  add(low: number, high: number, table: number): number {
    const mixed = mix(low ^ mix(high ^ mix(table + 1)))
    const [first, second] = [mixed % WIDTH, WIDTH + (mix(mixed ^ high ^ 0x5bd1e995) % WIDTH)]
    const cells = this.#cells
    const next = Math.min(cells[first]!, cells[second]!) + 1
    // A count that is higher already has others in it: it says nothing of this one.
    if (cells[first]! < next) cells[first] = next
    if (cells[second]! < next) cells[second] = next
    return next
  }
}

function mix(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

/** The signs of a table with the highest counts. */
class Highest {
  readonly #counts = new Map<bigint, number>()
  /** Those with no more than this are not among them. */
  least = 0

  put(sign: bigint, count: number): void {
    this.#counts.set(sign, count)
    if (this.#counts.size <= 2 * KEPT) return
    const counts = Float64Array.from(this.#counts.values()).sort()
    this.least = counts.at(-KEPT)!
    for (const [known, own] of this.#counts) if (own <= this.least) this.#counts.delete(known)
  }

  rows(most: number): HotRow[] {
    return [...this.#counts]
      .map(([sign, count]) => ({ key: String(sign), pulls: SAMPLED * count }))
      .sort(byPulls)
      .slice(0, most)
  }
}

const byPulls = (a: HotRow, b: HotRow) => b.pulls - a.pulls

/** What one thread of a server has seen pulled. */
export class HotRows {
  /** Made when first needed. */
  #counts: Counts | undefined
  /** By the first of the tables that have the same signs. */
  readonly #highest = new Map<number, Highest>()
  readonly #pulled = new Map<number, number>()
  readonly #firstOf = new Map<number, number>()
  /** Signs still to be passed over. */
  #skip = 0
  #random = 1

  /** Signs that a worker wants, each once. */
  note({ groups, tableGroups }: SignGroups): void {
    for (const [table, group] of tableGroups.entries()) {
      const first = tableGroups.indexOf(group)
      this.#firstOf.set(table, first)
      if (first === table) this.#sample(table, groups[group]!.signs)
    }
  }

  of(table: number, most: number): HotTable {
    const first = this.#firstOf.get(table) ?? table
    return { pulled: this.#pulled.get(first) ?? 0, rows: this.#highest.get(first)?.rows(most) ?? [] }
  }

  #sample(table: number, signs: BigUint64Array): void {
    this.#pulled.set(table, (this.#pulled.get(table) ?? 0) + signs.length)
    let at = this.#skip
    if (at < signs.length) {
      this.#counts ??= new Counts()
      const highest = this.#highest.get(table) ?? new Highest()
      this.#highest.set(table, highest)
      const halves = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
      for (; at < signs.length; at += 1 + this.#gap()) {
        const count = this.#counts.add(halves[2 * at]!, halves[2 * at + 1]!, table)
        if (count > highest.least) highest.put(signs[at]!, count)
      }
    }
    this.#skip = at - signs.length
  }

  /** By chance, from 0 to twice the mean: signs that stand in the same places of every batch are counted as others are. */
  #gap(): number {
    this.#random = (Math.imul(this.#random, 0x19660d) + 0x3c6ef35f) >>> 0
    return Math.floor((this.#random / 2 ** 32) * (2 * SAMPLED - 1))
  }
}

/** What several threads of a server have seen, as one: each of them serves pulls of all rows. */
export function joinHot(parts: readonly HotTable[], most: number): HotTable {
  const rows = new Map<string, HotRow>()
  for (const { key, pulls } of parts.flatMap((part) => part.rows))
    rows.set(key, { key, pulls: pulls + (rows.get(key)?.pulls ?? 0) })
  const pulled = parts.reduce((sum, part) => sum + part.pulled, 0)
  return { pulled, rows: [...rows.values()].sort(byPulls).slice(0, most) }
}
