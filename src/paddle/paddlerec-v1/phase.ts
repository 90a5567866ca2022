/** @file One phase made ready: its model, its files, what both must agree on; and what PaddleRec 1.x shows before a runner begins. */
import {
  checkSlotsV1,
  flattenRunConfig,
  type NodeV1,
  type PhaseJob,
  type PhaseV1,
  phaseJob,
  phasesOf,
  readsSlots,
} from '../../base/config/index.ts'
import { createRng, defined, deriveSeed } from '../../base/util/index.ts'
import { listDataTree } from '../../data/index.ts'
import { checkAgreement, loadModel, type TracedModel } from '../../model/index.ts'
import type { RunnerContext } from './run.ts'

export interface ReadyPhase extends PhaseJob {
  readonly model: TracedModel
  readonly files: readonly string[]
}

export async function readyPhase({ config, runner, emit }: RunnerContext, phase: PhaseV1): Promise<ReadyPhase> {
  const job = phaseJob(config, runner, phase)
  const { dataset, loaded } = job
  const files = await listDataTree(dataset.data_path, `dataset.${dataset.name}.data_path`)
  const model = await loadModel(loaded)
  for (const message of checkSlotsV1(config, dataset, model.slots)) emit({ kind: 'notice', message })
  if (readsSlots(dataset) || dataset.data_converter === undefined) await checkAgreement(loaded, model.slots, files)
  return { ...job, model, files }
}

/** The settings of a runner as the start of its output shows them. */
export function settingsOf({ config, runner }: RunnerContext, { phase, dataset }: PhaseJob): Record<string, unknown> {
  const keys = ['class', 'device', 'epochs', 'init_model_path', 'save_checkpoint_path', 'print_interval'] as const
  return {
    config: config.config.path,
    'runner.name': runner.name,
    ...Object.fromEntries(keys.map((key) => [`runner.${key}`, runner[key]])),
    'phase.name': phase.name,
    'phase.model': phase.model,
    'phase.thread_num': phase.thread_num,
    'dataset.name': dataset.name,
    'dataset.data_path': dataset.data_path,
    'dataset.batch_size': dataset.batch_size,
  }
}

/** The files of an epoch: with shuffle_filelist in another order in each, the same in each run and on every worker. */
export function filesInOrder({ phase, files, runner }: ReadyPhase, epoch: number): readonly string[] {
  if (!phase.shuffle_filelist) return files
  const rng = createRng(deriveSeed(runner.seed, `files ${epoch}`))
  const order = [...files]
  for (let i = order.length - 1; i > 0; i--) {
    const j = rng.below(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}

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
  return defined({
    'train.trainer.trainer': 'GeneralTrainer',
    'train.trainer.engine': engine,
    'train.trainer.executor_mode': runner.class === 'infer' ? 'infer' : 'train',
    'train.trainer.strategy': engine === 'single' ? undefined : runner.distribute_strategy,
    'train.trainer.threads': Math.max(...phasesOf(config.config, runner).map(({ thread_num }) => thread_num)),
    'train.trainer.platform': PLATFORMS[process.platform] ?? process.platform.toUpperCase(),
  })
}
