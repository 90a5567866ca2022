/** @file Which weights, states and tables a program has news for. */

import type { Program } from '../../graph/program/index.ts'
import type { BatchParams, DenseLayout } from '../../weights/params/index.ts'

/** What a step pushes where its program has no gradients for some weights or tables, which then stay as they are. */
export type PushedPart = (share: BatchParams) => Pick<BatchParams, 'tables' | 'dense'>

export function pushedPart(program: Program, layout: DenseLayout): PushedPart | undefined {
  const fetched = new Set(program.fetches.map(({ name }) => name))
  const changing = layout.entries.filter(({ kind, trainable }) => kind === 'state' || trainable)
  const dense = changing.filter(({ kind, name }) => fetched.has(`${kind === 'state' ? 'state' : 'grad'}:${name}`))
  const rows = program.rows.filter(({ name }) => fetched.has(`grad:${name}`))
  const tables = new Set(rows.map(({ table }) => program.tables.findIndex(({ name }) => name === table)))
  if (dense.length === changing.length && tables.size === program.tables.length) return undefined
  const names = new Set(dense.map(({ name }) => name))
  return (share) => ({ tables: share.tables.filter(({ table }) => tables.has(table)), dense: names })
}
