/** @file Which mode a job trains in: what its strategy says, or what fits the program and the memory of this host. */
import { freemem } from 'node:os'
import type { PsMode } from '../../training/ps/index.ts'
import { denseLayout } from '../../weights/params/index.ts'
import { strategyError } from './errors.ts'
import {
  DistributedStrategy,
  NO_GEO_STEP,
  type StrategyPlan,
  type TrainerStrategy,
  type TranspilerModes,
  transpilerPlan,
} from './strategy.ts'
import type { SettledStrategy, TrainingProgram } from './training-program.ts'

/** A strategy in any of Paddle's forms. */
export type Strategy = DistributedStrategy | TrainerStrategy | TranspilerModes

/** Without a strategy it is async, as fleet 1.x and runner.sync_mode have it. */
export function settleStrategy(
  strategy: Strategy | undefined,
  program: TrainingProgram,
  { freeBytes = freemem() }: { readonly freeBytes?: number } = {},
): SettledStrategy {
  const plan = planOf(strategy)
  const tableParameters = strategy instanceof DistributedStrategy ? strategy.sparseTableConfigs : {}
  const settled = (mode: PsMode, geoStep: number, reason?: string): SettledStrategy => ({
    mode,
    geoStep,
    tableParameters,
    reason,
  })
  if (plan.kind === 'mode') return settled(plan.mode, plan.geoStep)
  const { kind } = program.model.optimizer
  if (kind !== 'sgd') return settled('async', NO_GEO_STEP, `the optimizer is ${kind}, not sgd`)
  if (Object.keys(tableParameters).length > 0) return settled('async', NO_GEO_STEP, 'tables have settings of their own')
  const needed = estimatedBytes(program)
  const [neededMb, freeMb] = [needed, freeBytes].map((bytes) => Math.ceil(bytes / 2 ** 20))
  const sizes = `a copy of the model takes about ${neededMb} MB, ${freeMb} MB are free`
  return needed < freeBytes
    ? settled('geo', AUTO_GEO_STEP, `the optimizer is sgd and ${sizes}`)
    : settled('async', NO_GEO_STEP, sizes)
}

const AUTO_GEO_STEP = 800

function planOf(strategy: Strategy | undefined): StrategyPlan {
  if (strategy === undefined) return { kind: 'mode', mode: 'async', geoStep: NO_GEO_STEP }
  if (strategy instanceof DistributedStrategy) return strategy.plan
  if (strategy?.kind === 'mode') return strategy
  if (strategy?.syncMode !== undefined) return transpilerPlan(strategy)
  throw strategyError(
    `distributedOptimizer: ${JSON.stringify(strategy)} is no strategy`,
    'pass a DistributedStrategy, a DistributeTranspilerConfig or one of StrategyFactory',
  )
}

const BATCH = 1024
/** Weights, gradients and the optimizer's state. */
const COPIES = 5

/** Memory of a worker that trains a copy of its own, as Paddle reckons it. Tables count with the rows they were declared with. */
export function estimatedBytes({ model, tableRows = {} }: TrainingProgram): number {
  const { train, optimizer } = model
  const rows = train.tables.reduce((sum, { name, dim }) => sum + (tableRows[name] ?? 0) * dim, 0)
  const weights = denseLayout(train, optimizer).floats + rows
  const activations = train.nodes.reduce((sum, { shape }) => sum + sizeOf(shape), 0)
  return 4 * (COPIES * weights + activations)
}

/** Symbols of the shape count as a batch. */
function sizeOf(shape: readonly unknown[]): number {
  return shape.reduce<number>((size, dim) => size * (typeof dim === 'number' ? dim : BATCH), 1)
}
