/** @file A round: one step of all ranks together. Its head says how many samples each rank brings, and signs of whom. */
import { checkMessage, readBrought } from '../../../base/net/index.ts'
import type { Ranks } from './ranks.ts'

/** What a rank brings. */
export interface RankPart {
  readonly samples: number
  /** It will bring no more, and the others shall stop as well. */
  readonly stopping: boolean
  /** Signs by slot group and owner: counts[group * owners + owner]. */
  readonly counts: readonly number[]
}

export class Round {
  readonly samples: number
  readonly stopping: boolean
  readonly #parts: readonly RankPart[]
  readonly #owners: number
  readonly #rank: number

  constructor(parts: readonly RankPart[], owners: number, rank: number) {
    this.#parts = parts
    this.#owners = owners
    this.#rank = rank
    this.samples = parts.reduce((sum, { samples }) => sum + samples, 0)
    this.stopping = parts.some(({ stopping }) => stopping)
  }

  /** This rank's part of the samples: the weight of its gradients. */
  get weight(): number {
    return this.samples === 0 ? 0 : this.#parts[this.#rank]!.samples / this.samples
  }

  /** How many signs of a group each rank has. */
  signsOf(group: number): readonly number[] {
    return this.#parts.map(({ counts }) =>
      counts.slice(group * this.#owners, (group + 1) * this.#owners).reduce((sum, count) => sum + count, 0),
    )
  }

  /** How many signs of a group this rank has that each rank owns. */
  sent(group: number): readonly number[] {
    return this.#parts[this.#rank]!.counts.slice(group * this.#owners, (group + 1) * this.#owners)
  }

  /** How many signs of a group each rank has that this rank owns. */
  coming(group: number): readonly number[] {
    return this.#parts.map(({ counts }) => counts[group * this.#owners + this.#rank]!)
  }
}

/** More samples or signs than one batch has: a weight that is no number would end in every weight of every rank. */
const MOST_OF_A_BATCH = 2 ** 31
const isCount = (value: number) => Number.isInteger(value) && value >= 0 && value <= MOST_OF_A_BATCH

/** Gathers what every rank brings. */
export async function gatherRound({ rank, size, begin }: Ranks, own: RankPart, owners: number): Promise<Round> {
  const { samples, stopping, counts } = own
  const head = Float64Array.of(samples, Number(stopping), ...counts)
  const finish = begin.allGather(head, Array<number>(size).fill(head.length))
  const { values } = await finish()
  const parts = Array.from({ length: size }, (_, r): RankPart => {
    const brought = values.subarray(r * head.length, (r + 1) * head.length)
    readBrought(`rank ${r}`, () => checkMessage(brought.every(isCount), 'samples or signs that cannot be counted'))
    const [samples = 0, stopping = 0, ...counts] = brought
    return { samples, stopping: stopping === 1, counts }
  })
  return new Round(parts, owners, rank)
}
