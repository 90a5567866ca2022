/** @file Which rows were updated last, by whom: kept for the newest pushes, in memory that does not grow. */
import type { SignGroups } from '../../weights/params/index.ts'

/** About the last 80 pushes of 13,000 signs; 8 MB. */
const CAPACITY = 2 ** 20

export interface Update {
  readonly step: number
  readonly worker: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** What is remembered of a row: its newest push, and how far back the memory goes. */
export interface UpdateMemory {
  readonly lastUpdate?: Update | undefined
  readonly since?: Update | undefined
}

/** What several threads of a server remember, as one. */
export function joinMemories(memories: readonly UpdateMemory[]): UpdateMemory {
  const newest = (updates: readonly (Update | undefined)[]) =>
    updates.reduce((a, b) => (b !== undefined && (a === undefined || b.at > a.at) ? b : a), undefined)
  const lastUpdate = newest(memories.map((memory) => memory.lastUpdate))
  // Before it, one of them may have forgotten something.
  const since = newest(memories.map((memory) => memory.since))
  return { lastUpdate, since }
}

interface Entry extends Update {
  /** Groups of signs with the tables they belong to: [from, to) of all signs ever noted. */
  readonly runs: readonly { readonly tables: readonly number[]; readonly from: number; readonly to: number }[]
}

export class UpdateLog {
  /** A ring; made when first needed. */
  #signs: BigUint64Array | undefined
  #noted = 0
  #entries: Entry[] = []

  /** How far back it reaches: the oldest push that is remembered. */
  get oldest(): Update | undefined {
    return this.#entries[0]
  }

  /** Copies the signs of a push. */
  note(worker: number, step: number, { groups, tableGroups }: SignGroups): void {
    this.#signs ??= new BigUint64Array(CAPACITY)
    const runs = groups.map(({ signs }, g) => {
      const from = this.#noted
      this.#append(signs.length > CAPACITY ? signs.subarray(0, CAPACITY) : signs)
      return { from, to: this.#noted, tables: tableGroups.flatMap((group, table) => (group === g ? [table] : [])) }
    })
    this.#entries.push({ step, worker, at: Date.now(), runs })
    // What the ring has written over is forgotten.
    const first = this.#entries.findIndex((entry) => entry.runs.every(({ from }) => from >= this.#noted - CAPACITY))
    if (first > 0) this.#entries = this.#entries.slice(first)
  }

  memoryOf(table: number, sign: bigint): UpdateMemory {
    const plain = ({ step, worker, at }: Update): Update => ({ step, worker, at })
    const [last, since] = [this.find(table, sign), this.oldest]
    return { lastUpdate: last && plain(last), since: since && plain(since) }
  }

  /** The newest push with this sign, of those that are remembered. */
  find(table: number, sign: bigint): Update | undefined {
    return this.#entries.findLast(({ runs }) =>
      runs.some(({ tables, from, to }) => tables.includes(table) && this.#has(sign, from, to)),
    )
  }

  #append(signs: BigUint64Array): void {
    const at = this.#noted % CAPACITY
    const fit = Math.min(signs.length, CAPACITY - at)
    this.#signs!.set(signs.subarray(0, fit), at)
    this.#signs!.set(signs.subarray(fit), 0)
    this.#noted += signs.length
  }

  #has(sign: bigint, from: number, to: number): boolean {
    for (let i = from; i < to; i++) if (this.#signs![i % CAPACITY] === sign) return true
    return false
  }
}
