/** @file Which weights and tables a step of any rank has news for: the rest stays as it is on all of them. */

import type { Program } from '../../../graph/program/index.ts'
import type { BatchParams, DenseLayout, Values } from '../../../weights/params/index.ts'
import type { Ranks } from './ranks.ts'
import type { Round } from './round.ts'

interface ChangedParts {
  readonly dense: ReadonlySet<string>
  readonly tables: ReadonlySet<number>
}

export interface PartsMask {
  /** Gradients of weights that this rank's step has none for are zero, states as they were. */
  blank<V extends Values>(share: BatchParams<V>): void
  /** What the steps of all ranks change. */
  allReduce<V extends Values>(ranks: Ranks, share: BatchParams<V>, round: Round): Promise<ChangedParts>
}

export function changedParts({ entries }: DenseLayout, { tables }: Pick<Program, 'tables'>): PartsMask {
  const changing = entries.filter(({ kind, trainable }) => kind === 'state' || trainable)
  // The same parts must be the same object: what follows from them is kept by it.
  const known = new Map<string, ChangedParts>()
  const partsOf = (mask: Uint8Array): ChangedParts => ({
    dense: new Set(changing.filter((_, i) => mask[i] === 1).map(({ name }) => name)),
    tables: new Set(tables.flatMap((_, t) => (mask[changing.length + t] === 1 ? [t] : []))),
  })
  return {
    blank({ dense, gradients, weights }) {
      if (!dense) return
      for (const { kind, name, at, size } of changing) {
        if (dense.has(name)) continue
        if (kind === 'state') gradients.set(weights.subarray(at, at + size), at)
        else gradients.fill(0, at, at + size)
      }
    },
    async allReduce({ begin }, { samples, dense, tables: pushed }, round) {
      const mask = new Uint8Array(changing.length + tables.length)
      if (samples > 0 && round.samples > 0) {
        for (const [i, { name }] of changing.entries()) mask[i] = Number(!dense || dense.has(name))
        for (const { table } of pushed) mask[changing.length + table] = 1
      }
      const finish = begin.allReduce(mask, 'max')
      await finish()
      const key = mask.join('')
      const parts = known.get(key) ?? partsOf(mask)
      known.set(key, parts)
      return parts
    },
  }
}
