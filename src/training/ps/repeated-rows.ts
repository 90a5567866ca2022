/**
 * @file Sums of gradients as the updates that they stand for: a row whose gradients of k batches were added up is updated k times by their
 * mean. An optimizer that scales its steps (Adam) would make one step of the sum, and learn frequent rows k times as slowly.
 */
import type { RowGradients } from '../../weights/params/index.ts'

/** Of a sign's three numbers beside its gradients that which says how many were added up. */
export const COUNT_AT = 1

/** Round after round, those that have updates left. */
export function* updatesOf({ groups, tableGroups, gradients, showClick }: RowGradients): Generator<RowGradients> {
  const counts = groups.map(({ signs }, g) =>
    Uint32Array.from(signs, (_, i) => Math.max(1, showClick?.[g]?.[3 * i + COUNT_AT] ?? 1)),
  )
  const most = counts.reduce((sum, own) => own.reduce((a, b) => Math.max(a, b), sum), 0)
  for (let round = 1; round <= most; round++) {
    const left = groups.map(({ signs, lengths }, g) => {
      const at: number[] = []
      const ownLengths = new Uint32Array(lengths.length)
      for (let segment = 0, i = 0; segment < lengths.length; segment++)
        for (const end = i + lengths[segment]!; i < end; i++)
          if (counts[g]![i]! >= round) {
            at.push(i)
            ownLengths[segment]!++
          }
      return { at, distinct: { signs: BigUint64Array.from(at, (i) => signs[i]!), lengths: ownLengths } }
    })
    yield {
      groups: left.map(({ distinct }) => distinct),
      tableGroups,
      gradients: tableGroups.map((g, t) => {
        const all = gradients[t] as Float32Array
        const dim = groups[g]!.signs.length === 0 ? 0 : all.length / groups[g]!.signs.length
        const own = new Float32Array(left[g]!.at.length * dim)
        for (const [j, i] of left[g]!.at.entries())
          for (let d = 0; d < dim; d++) own[j * dim + d] = all[i * dim + d]! / counts[g]![i]!
        return own
      }),
    }
  }
}
