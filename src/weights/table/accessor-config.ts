/** @file From `table_parameters` to what a table does: defaults filled as Paddle fills them, widths checked. */
import type { DeepReadonly, TableParameters } from '../../base/config/index.ts'
import { ACCESSORS, type AccessorConfig, type AccessorName, type SparseRule } from '../../base/kernel/index.ts'
import { defined, suggest, UserError } from '../../base/util/index.ts'
import type { EntryPolicy, Initializer, TableSpec } from '../../graph/program/index.ts'
import type { OptimizerSpec } from '../optim/index.ts'
import { admissionOf, parseEntry } from './entry.ts'
import { PADDLE_RULES } from './text-rows.ts'

type Parameters = DeepReadonly<TableParameters>
/** `table_parameters`, by table. */
export type TablesParameters = Readonly<Record<string, Parameters>>

export interface TableAccessorOptions {
  readonly table: TableSpec
  readonly optimizer: OptimizerSpec
  readonly parameters?: Parameters | undefined
}

/** What a table with an `accessor` block or an entry policy does; undefined: rows as the optimizer alone wants them. */
export function tableAccessor({ table, optimizer, parameters = {} }: TableAccessorOptions): AccessorConfig | undefined {
  const entry = tableEntry(table, parameters)
  if (!parameters.accessor && !entry) return undefined
  const { accessor_class, fea_dim, embedx_dim, embedx_threshold, ...rest } = parameters.accessor ?? {}
  const accessor = supported(table.name, accessor_class ?? 'SparseAccessor')
  const embedxDim = checkedWidths(table, accessor, fea_dim, embedx_dim)
  const ctr = rest.ctr_accessor_param ?? {}
  const admission = admissionOf(entry)
  return defined({
    accessor,
    embedxDim,
    embedxThreshold: embedx_threshold ?? 0,
    embed: sparseRule(rest.embed_sgd_param, table, optimizer),
    embedx: sparseRule(rest.embedx_sgd_param, table, optimizer),
    nonclkCoeff: ctr.nonclk_coeff ?? 0.1,
    clickCoeff: ctr.click_coeff ?? 1,
    baseThreshold: ctr.base_threshold ?? 0,
    deltaThreshold: ctr.delta_threshold ?? 0,
    deltaKeepDays: ctr.delta_keep_days ?? 16,
    showClickDecayRate: ctr.show_click_decay_rate ?? 1,
    deleteThreshold: ctr.delete_threshold ?? 0,
    deleteAfterUnseenDays: ctr.delete_after_unseen_days ?? 30,
    showScale: accessor === 'SparseAccessor' || (ctr.show_scale ?? true),
    zeroInit: ctr.zero_init ?? embedxDim > 0,
    admission,
  })
}

/** The entry policy of a table: of `table_parameters`, else of the model. */
export function tableEntry({ entry }: TableSpec, parameters: Parameters | undefined): EntryPolicy | undefined {
  return parameters?.entry === undefined ? entry : parseEntry(parameters.entry)
}

/** Checks `table_parameters` against the model without opening anything. */
export function checkTables(
  tables: readonly TableSpec[],
  parameters: TablesParameters,
  optimizerOf: (table: string) => OptimizerSpec,
): void {
  checkTableNames(parameters, tables)
  for (const table of tables)
    tableAccessor({ table, optimizer: optimizerOf(table.name), parameters: parameters[table.name] })
}

/** Geo's servers only add what workers send: no table may ask for more. */
export function refuseAccessors(tables: readonly TableSpec[], parameters: TablesParameters): void {
  const asking = tables.find((table) => parameters[table.name]?.accessor || tableEntry(table, parameters[table.name]))
  if (!asking) return
  throw new UserError(`table ${asking.name} has an accessor or an entry policy, which geo cannot have`, {
    code: 'TABLE_GEO',
    hint: 'in geo workers train rows of their own and servers only add: set runner.sync_mode to async or sync, or take the accessor and entry of this table out',
  })
}

/** Names in `table_parameters` that no table has are errors. */
export function checkTableNames(
  parameters: Readonly<Record<string, unknown>>,
  tables: readonly Pick<TableSpec, 'name'>[],
): void {
  const known = tables.map(({ name }) => name)
  const unknown = Object.keys(parameters).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const near = suggest(unknown, known)
  throw new UserError(`table_parameters.${unknown}: the model has no table of this name`, {
    code: 'TABLE_UNKNOWN',
    hint: near ? `did you mean ${near}?` : `tables of the model: ${known.join(', ') || 'none'}`,
  })
}

function supported(table: string, name: string): AccessorName {
  const found = ACCESSORS.find((known) => known === name)
  if (found) return found
  throw new UserError(`table_parameters.${table}: ${name} needs parameter servers on GPUs`, {
    code: 'TABLE_ACCESSOR',
    hint: `set accessor_class to ${ACCESSORS.join(', ')}`,
  })
}

/** Returns embedx_dim; the texts are Paddle's. */
function checkedWidths({ name, dim }: TableSpec, accessor: AccessorName, feaDim?: number, embedxDim?: number): number {
  const sparse = accessor === 'SparseAccessor'
  const [more, less] = sparse ? [2, 1] : [0, 3]
  const rightFea = dim + more
  if (feaDim !== undefined && feaDim !== rightFea)
    throw wrongWidth(
      name,
      'fea_dim',
      `The fea_dim is wrong, it will be sparse_embedding_dim${more > 0 ? ` + ${more}` : ''}: ${rightFea}, but got ${feaDim}`,
      rightFea,
    )
  const right = dim - less
  if (right < 0)
    throw new UserError(
      `table ${name} has ${dim} columns; ${accessor} needs at least ${less} for show, click and weight`,
      {
        code: 'TABLE_WIDTH',
        hint: `give the embedding a dim of ${less} or more, or set accessor_class: SparseAccessor`,
      },
    )
  if (embedxDim !== undefined && embedxDim !== right)
    throw wrongWidth(
      name,
      'embedx_dim',
      `The embedx_dim is wrong, it will be sparse_embedding_dim - ${less}: ${right}, but got ${embedxDim}`,
      right,
    )
  return right
}

function wrongWidth(table: string, key: string, message: string, right: number): UserError {
  return new UserError(`table_parameters.${table}.accessor: ${message}`, {
    code: 'TABLE_WIDTH',
    hint: `set ${key}: ${right}, or leave it out`,
  })
}

type SgdParam = NonNullable<NonNullable<Parameters['accessor']>['embed_sgd_param']>

/** A rule without a name follows the optimizer. Written constants are honoured; the others are the optimizer's or Paddle's. */
function sparseRule(param: SgdParam | undefined, { init }: TableSpec, optimizer: OptimizerSpec): SparseRule {
  const name = param?.name ?? PADDLE_RULES[optimizer.kind]
  if (name === undefined) throw cannotFollow(optimizer)
  const block = name.includes('Adam') ? 'adam' : name.includes('AdaGrad') ? 'adagrad' : 'naive'
  const { weight_bounds, ...written } = (param?.[block] ?? {}) as Readonly<Record<string, number>> & {
    readonly weight_bounds?: readonly [number, number]
  }
  const adam = optimizer.kind === 'adam' ? optimizer : undefined
  return {
    name,
    learningRate: written['learning_rate'] ?? optimizer.learningRate,
    initialRange: written['initial_range'] ?? lastAttribute(init),
    initialG2sum: written['initial_g2sum'] ?? 3,
    beta1: written['beta1_decay_rate'] ?? adam?.beta1 ?? 0.9,
    beta2: written['beta2_decay_rate'] ?? adam?.beta2 ?? 0.999,
    epsilon: written['ada_epsilon'] ?? adam?.epsilon ?? 1e-8,
    bounds: weight_bounds ?? [-10, 10],
  }
}

/** The last constant of an initializer, which Paddle takes for the range of new weights. */
function lastAttribute(init: Initializer): number {
  if (init.kind === 'uniform') return init.high
  if (init.kind === 'normal' || init.kind === 'truncated_normal') return init.std
  return init.kind === 'constant' ? init.value : 1e-4
}

function cannotFollow({ kind }: OptimizerSpec): UserError {
  return new UserError(`no sparse rule follows the optimizer ${kind}`, {
    code: 'TABLE_RULE',
    hint: 'name one in accessor.embed_sgd_param.name and embedx_sgd_param.name, such as SparseAdaGradSGDRule',
  })
}
