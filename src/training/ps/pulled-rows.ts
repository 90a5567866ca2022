/** @file Where the rows of a batch lie, as the pull found them: the push that follows need not look them up again. */

import { bytesOf } from '../../base/util/index.ts'
import type { DistinctSigns } from '../../weights/table/index.ts'

/** Pulls kept of each contributor: one is computed, the next is already asked for. */
const KEPT = 2
/** Beyond so many contributors rows are looked up again: addresses take four bytes a sign and table. */
const MAX_CONTRIBUTORS = 32

interface Pull {
  /** Number of the table's list of addresses; 0 is nobody's. */
  readonly hand: number
  /** By group; views of `rooms`, which are used again and again. */
  signs: Uint8Array[]
  readonly rooms: Uint8Array[]
}

export class PulledRows {
  readonly #pulls = new Map<number, Pull[]>()

  /** Notes the signs of a pull; returns where its addresses are to be kept. */
  note(contributor: number, groups: readonly DistinctSigns[]): number {
    const pulls = this.#pullsOf(contributor)
    const oldest = pulls?.shift()
    if (!oldest) return 0
    oldest.signs = groups.map(({ signs }, g) => copied(bytesOf(signs), oldest.rooms, g))
    pulls!.push(oldest)
    return oldest.hand
  }

  /** Where the addresses of exactly these signs are; undefined: nowhere. */
  find(contributor: number, groups: readonly DistinctSigns[]): number | undefined {
    const same = ({ signs }: Pull) =>
      signs.length === groups.length &&
      groups.every((group, g) => Buffer.compare(signs[g]!, bytesOf(group.signs)) === 0)
    return this.#pulls.get(contributor)?.find(same)?.hand
  }

  /** Rows have moved or gone. */
  forget(): void {
    for (const pulls of this.#pulls.values()) for (const pull of pulls) pull.signs = []
  }

  #pullsOf(contributor: number): Pull[] | undefined {
    const known = this.#pulls.get(contributor)
    if (known || this.#pulls.size >= MAX_CONTRIBUTORS) return known
    const first = 1 + KEPT * this.#pulls.size
    const pulls = Array.from({ length: KEPT }, (_, i): Pull => ({ hand: first + i, signs: [], rooms: [] }))
    this.#pulls.set(contributor, pulls)
    return pulls
  }
}

function copied(bytes: Uint8Array, rooms: Uint8Array[], at: number): Uint8Array {
  // A server may own none of a batch's signs: then there is no room yet and none is needed.
  if ((rooms[at]?.byteLength ?? -1) < bytes.byteLength) rooms[at] = new Uint8Array(2 * bytes.byteLength)
  const room = rooms[at]!.subarray(0, bytes.byteLength)
  room.set(bytes)
  return room
}
