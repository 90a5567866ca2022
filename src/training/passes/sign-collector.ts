/** @file The distinct signs of samples, for the tables that look them up. */
import { type Workspace, WorkspacePlan } from '../../base/kernel/index.ts'
import type { Piece } from '../../data/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { type DistinctRoom, type DistinctSigns, makeDistinct, planDistinct } from '../../weights/table/index.ts'

/** Tables that look up the same slots, by their places in the program; `wanted` has 1 for each of those among all sparse slots. */
export interface SlotTables {
  readonly tables: readonly number[]
  readonly wanted: Uint8Array
}

export function slotTables({ tables, rows }: Program, sparse: readonly string[]): SlotTables[] {
  const groups = new Map<string, { tables: number[]; wanted: Uint8Array }>()
  for (const [t, { name }] of tables.entries()) {
    const used = new Set(rows.filter(({ table }) => table === name).flatMap(({ slots }) => slots))
    const wanted = Uint8Array.from(sparse, (slot) => Number(used.has(slot)))
    const known = groups.get(wanted.join()) ?? { tables: [], wanted }
    known.tables.push(t)
    groups.set(wanted.join(), known)
  }
  return [...groups.values()]
}

interface Room {
  readonly samples: number
  readonly signs: number
  readonly workspace: Workspace
  readonly signsAt: number
  readonly countsAt: number
  readonly wantedAt: number
  readonly pickedCountsAt: number
  readonly distinct: DistinctRoom
}

/** Makes signs distinct piece by piece, in memory that grows with the largest piece. */
export class SignCollector {
  readonly #sparseSlots: number
  readonly #segments: number
  #room: Room | undefined

  constructor(sparseSlots: number, segments: number) {
    this.#sparseSlots = sparseSlots
    this.#segments = segments
  }

  /** Of the wanted slots of a piece, segment after segment; a view that the next call changes. */
  distinct({ chunk, from, to }: Piece, wanted: Uint8Array): DistinctSigns {
    const [samples, slots] = [to - from, this.#sparseSlots]
    const signs = chunk.signs.subarray(chunk.starts[from], chunk.starts[to])
    const room = this.#fit(samples, signs.length)
    const { kernel, buffer } = room.workspace
    new BigUint64Array(buffer, room.signsAt, signs.length).set(signs)
    new Uint32Array(buffer, room.countsAt, samples * slots).set(chunk.counts.subarray(from * slots, to * slots))
    new Uint8Array(buffer, room.wantedAt, slots).set(wanted)
    const { signsAt, countsAt, wantedAt, pickedCountsAt, distinct } = room
    const picked = kernel.select(signsAt, countsAt, samples, slots, wantedAt, distinct.at.signs, pickedCountsAt)
    return makeDistinct(room.workspace, distinct, picked, this.#segments)
  }

  #fit(samples: number, signs: number): Room {
    const known = this.#room
    if (known && known.samples >= samples && known.signs >= signs) return known
    this.#room = openRoom(
      Math.max(samples, known?.samples ?? 1024),
      Math.max(Math.ceil(signs * 1.25), known?.signs ?? 1024),
      this.#sparseSlots,
      this.#segments,
    )
    return this.#room
  }
}

function openRoom(samples: number, signs: number, slots: number, segments: number): Room {
  const plan = new WorkspacePlan()
  const [signsAt, countsAt] = [plan.region(8 * signs).at, plan.region(4 * samples * slots).at]
  const [wantedAt, pickedCountsAt] = [plan.region(slots).at, plan.region(4 * samples * slots).at]
  const distinct = planDistinct(plan, signs, segments)
  const workspace = plan.open()
  workspace.kernel.setPlacement(1, 1)
  return { samples, signs, workspace, signsAt, countsAt, wantedAt, pickedCountsAt, distinct }
}
