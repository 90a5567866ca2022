/** @file Compares a checkpoint with the model that is to take it: what makes it unusable, and what is worth knowing. */
import type { LocalParams } from '../params/index.ts'
import type { RowPrecision, SparseTable } from '../table/index.ts'
import type { Manifest, ManifestTable } from './manifest.ts'

type Optimizer = Manifest['dense']['optimizer']

/** Names and shapes that differ, one sentence each; none: the weights fit. */
export function weightDifferences(manifest: Manifest, params: LocalParams): string[] {
  const precisions = [...params.tables.map(({ precision }) => precision), ...manifest.tables.map(({ dtype }) => dtype)]
  // Where one is reduced all say what they are.
  const areTold = precisions.some((precision) => precision !== 'float32')
  const tables = compare(
    params.tables.map((table) => [`table ${table.name}`, rowText(table, areTold && table.precision)]),
    manifest.tables.map((table) => [`table ${table.name}`, rowText(table, areTold && table.dtype)]),
  )
  const dense = compare(
    params.dense.layout.entries.map(({ name, kind, shape }) => [`${kind} ${name}`, `shape [${shape.join(', ')}]`]),
    manifest.dense.entries.map(({ name, kind, shape }) => [`${kind} ${name}`, `shape [${shape.join(', ')}]`]),
  )
  return [...tables, ...dense]
}

/** What rows consist of: rows of another kind cannot be taken, not even their weights. */
function rowText(
  { dim, accessor }: Pick<SparseTable, 'dim' | 'accessor'> | ManifestTable,
  precision: RowPrecision | false,
): string {
  const weights = precision ? `dim ${dim} in ${precision}` : `dim ${dim}`
  return accessor ? `${weights} with ${accessor.accessor} (${accessor.embed.name}, ${accessor.embedx.name})` : weights
}

/** Optimizers whose state means something else; none: optimizer state fits too. */
export function stateDifferences(manifest: Manifest, params: LocalParams): string[] {
  const differs = (name: string, here: Optimizer, there: Optimizer) =>
    `${name}: optimizer ${optimizerText(here, there)} here, ${optimizerText(there, here)} in the checkpoint`
  const { dense, tables } = params.handle
  return [
    ...(denseStateFits(manifest, params) ? [] : [differs('dense weights', dense.optimizer, manifest.dense.optimizer)]),
    ...params.tables.flatMap((table, i) => {
      const saved = manifest.tables.find(({ name }) => name === table.name)
      const { optimizer } = tables[i]!
      if (!saved || tableStateFits(saved, table, optimizer)) return []
      return [differs(`table ${table.name}`, optimizer, saved.optimizer)]
    }),
  ]
}

export function denseStateFits({ dense: saved }: Manifest, { dense, handle }: LocalParams): boolean {
  const floats = dense.bytes().length / 4
  const sameRuns = floats === (1 + saved.states) * dense.layout.floats
  return handle.dense.optimizer.kind === saved.optimizer.kind && sameRuns
}

export function tableStateFits(saved: ManifestTable, { rule }: SparseTable, here: Optimizer): boolean {
  return here.kind === saved.optimizer.kind && rule.states === saved.states && rule.clocked === saved.clocked
}

/** The kind; where that is the same, all of it. */
function optimizerText(spec: Optimizer, other: Optimizer): string {
  return spec.kind === other.kind ? JSON.stringify(spec) : spec.kind
}

/** What would make a resumed run differ from one that was never stopped. */
export function runDifferences(manifest: Manifest, params: LocalParams, program: string, seed: number): string[] {
  const optimizers = [
    ...fieldDifferences('optimizer', params.handle.dense.optimizer, manifest.dense.optimizer),
    ...params.handle.tables.flatMap(({ name, optimizer }) => {
      const saved = manifest.tables.find((table) => table.name === name)
      return saved ? fieldDifferences(`optimizer of table ${name}`, optimizer, saved.optimizer) : []
    }),
  ]
  return [
    ...(seed === manifest.seed ? [] : [`runner.seed: ${seed} here, ${manifest.seed} in the checkpoint`]),
    ...new Set(optimizers),
    ...(program === manifest.program ? [] : ["the model's program: its code or hyper_parameters were changed"]),
  ]
}

type Item = readonly [name: string, shape: string]

function compare(here: readonly Item[], there: readonly Item[]): string[] {
  const saved = new Map(there)
  const known = new Set(here.map(([name]) => name))
  return [
    ...here.flatMap(([name, shape]) => {
      const found = saved.get(name)
      if (found === undefined) return [`${name}: ${shape} here, not in the checkpoint`]
      return found === shape ? [] : [`${name}: ${shape} here, ${found.replace(/^\w+ /, '')} in the checkpoint`]
    }),
    ...there.flatMap(([name, shape]) => (known.has(name) ? [] : [`${name}: not here, ${shape} in the checkpoint`])),
  ]
}

function fieldDifferences(name: string, here: object, there: object): string[] {
  const [left, right] = [new Map(Object.entries(here)), new Map(Object.entries(there))]
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((field) => {
    const [a, b] = [JSON.stringify(left.get(field)), JSON.stringify(right.get(field))]
    return a === b ? [] : [`${name}: ${field} ${a ?? 'not set'} here, ${b ?? 'not set'} in the checkpoint`]
  })
}
