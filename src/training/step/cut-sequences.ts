/** @file Samples whose sequences are longer than the model reads: counted while batches go by, said once. */
import type { Batch, Slot } from '../../data/index.ts'
import type { Program } from '../../graph/program/index.ts'

export class CutSequences {
  readonly #watched: { readonly slot: string; readonly column: number; readonly length: number; cut: number }[]
  readonly #sparse: number
  #samples = 0
  #isSaid = false

  constructor({ rows }: Program, slots: readonly Slot[]) {
    const sparse = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
    this.#sparse = sparse.length
    const lengths = new Map(
      rows.flatMap(({ pooling, slots: [slot], shape }) =>
        pooling === 'sequence' && typeof shape[1] === 'number' ? [[slot!, shape[1]] as const] : [],
      ),
    )
    this.#watched = [...lengths].map(([slot, length]) => ({ slot, column: sparse.indexOf(slot), length, cut: 0 }))
  }

  look({ pieces, size }: Batch): void {
    if (this.#isSaid || this.#watched.length === 0) return
    this.#samples += size
    for (const watched of this.#watched) {
      for (const { chunk, from, to } of pieces) {
        for (let i = from; i < to; i++) {
          if (chunk.counts[i * this.#sparse + watched.column]! > watched.length) watched.cut++
        }
      }
    }
  }

  /** What was cut so far; undefined where nothing was, or where it was said before. */
  message(): string | undefined {
    const cut = this.#watched.filter((watched) => watched.cut > 0)
    if (this.#isSaid || cut.length === 0) return undefined
    this.#isSaid = true
    const each = cut.map(
      ({ slot, cut, length }) =>
        `${cut} of ${this.#samples} samples have more than ${length} signs in the slot ${slot}`,
    )
    return `${each.join('; ')}: the first ones of each were read, the others left out. A larger length in hyper_parameters reads them; a reader can keep the last ones.`
  }
}
