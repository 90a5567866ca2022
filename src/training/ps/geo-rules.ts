/** @file What trains what in a geo job: rows in every worker's copy; dense weights on the servers, or by Paddle's rule in the copies too. */
import type { GeoDelta } from '../../base/config/index.ts'
import type { Program } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { type OptimizerSpec, stateDecays } from '../../weights/optim/index.ts'
import { createLocalParams, type LocalParamsHandle, type LocalParamsOptions } from '../../weights/params/index.ts'
import { ADDING } from './geo-changes.ts'

type Rules = Pick<LocalParamsOptions, 'program' | 'optimizer' | 'tableOptimizers'>

/** By which a geo job's servers keep weights: what was trained in a copy is only added there, to state that copies share too. */
export function geoServerRules(
  { program, optimizer, tableOptimizers = {} }: Rules,
  delta: GeoDelta,
): Pick<TracedModel, 'optimizer' | 'tableOptimizers'> & { readonly plainTables: true } {
  const kept = program.tables.map(({ name }) => [name, exchanged(tableOptimizers[name] ?? optimizer, delta)] as const)
  return {
    optimizer: delta === 'share' ? ADDING : optimizer,
    tableOptimizers: Object.fromEntries(kept),
    plainTables: true,
  }
}

/** As what a table's rows are exchanged: with the state that its optimizer gives them, or without any. */
function exchanged(optimizer: OptimizerSpec, delta: GeoDelta | undefined): OptimizerSpec {
  return delta === 'share' || stateDecays(optimizer) === undefined ? ADDING : optimizer
}

/** By table: weights of a row, and what an update leaves of each run of state that is exchanged. */
export interface RowShape {
  readonly dim: number
  readonly decays: readonly number[]
}

/** A worker's copy, whose rows remember what the servers hold of them. */
export function createCopy(
  options: Omit<LocalParamsOptions, 'copied' | 'plainTables'>,
  delta: GeoDelta,
): LocalParamsHandle {
  const { optimizer, tableOptimizers = {} } = options
  const program = geoCopy(options.program, delta)
  const decays = (name: string) => stateDecays(exchanged(tableOptimizers[name] ?? optimizer, delta)) ?? []
  const copied = Object.fromEntries(program.tables.map(({ name }) => [name, decays(name)]))
  return createLocalParams({ ...options, program, copied, plainTables: true })
}

/** What a worker has a copy of. */
function geoCopy(program: Program, delta: GeoDelta): Program {
  return delta === 'share' ? program : { ...program, parameters: [], state: [] }
}
