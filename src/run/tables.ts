/** @file What PaddleRec 1.x shows before a runner begins: how it is run, and the whole config by dotted keys. */
import { flattenRunConfig, type NodeV1, phasesOf } from '../config/index.ts'
import type { RunnerContext } from './run.ts'

/** Emits both tables. */
export function showTables(context: RunnerContext, node: NodeV1 | undefined): void {
  const { emit, config } = context
  if (!node) emit({ kind: 'table', title: 'Runtime Envs', values: runtimeValues(context) })
  emit({ kind: 'table', title: 'paddlerec Global Envs', values: flattenRunConfig(config) })
}

const ENGINES = {
  train: 'single',
  infer: 'single',
  local_cluster_train: 'local_cluster',
  cluster_train: 'cluster',
} as const
const PLATFORMS: Readonly<Record<string, string>> = { linux: 'LINUX', darwin: 'DARWIN', win32: 'WINDOWS' }

function runtimeValues({ config, runner }: RunnerContext): Readonly<Record<string, unknown>> {
  const engine = ENGINES[runner.class]
  return {
    'train.trainer.trainer': 'GeneralTrainer',
    'train.trainer.engine': engine,
    'train.trainer.executor_mode': runner.class === 'infer' ? 'infer' : 'train',
    ...(engine !== 'single' && { 'train.trainer.strategy': runner.distribute_strategy }),
    'train.trainer.threads': Math.max(...phasesOf(config.config, runner).map(({ thread_num }) => thread_num)),
    'train.trainer.platform': PLATFORMS[process.platform] ?? process.platform.toUpperCase(),
  }
}
