/** @file A trainer as a process: its configuration, its data, alone or with servers, pass after pass. */
import { performance } from 'node:perf_hooks'
import type { Env } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import type { StepReport } from '../train/index.ts'
import { openClusterJob } from './cluster-job.ts'
import { configError } from './errors.ts'
import { readFileList } from './file-list.ts'
import { openLocalJob } from './job.ts'
import { loadTrainerConfig, locate, type TrainerConfig } from './load-config.ts'
import { TRAINER_OPTIONS, type TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions, isLocal } from './options.ts'
import { runPasses, testPasses } from './passes.ts'

export interface RunTrainerOptions {
  /** Of which nothing is wrong. */
  readonly typed: TypedTrainerOptions
  readonly env: Env
  readonly emit: EventSink
  /** Aborting ends training after the steps under way. */
  readonly signal?: AbortSignal
  readonly onStep?: (report: StepReport) => void
}

/** Trains as options and configuration say; rejects when this or another process of the job fails. */
export async function runTrainer(given: RunTrainerOptions): Promise<void> {
  const { typed, env, emit, signal = new AbortController().signal, onStep } = given
  const started = performance.now()
  const filled = fillTrainerOptions(typed)
  const options = { ...filled, config: locate(filled.config) }
  emit({ kind: 'start', command: 'train', model: 'oarfish trainer', settings: { ...typed } })
  for (const message of noticesOf(typed)) emit({ kind: 'notice', message })
  const local = isLocal(typed)
  const config = await loadTrainerConfig(options.config, options.config_args, local ? 1 : options.num_gradient_servers)
  const files = filesOf(config, options.job === 'test')
  const common = { config, options, files, emit, signal, ...(onStep && { onStep }) }
  const job = local ? await openLocalJob(common) : await openClusterJob({ ...common, env })
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  try {
    const run = job.options.job === 'test' ? testPasses : runPasses
    await run(job, { tests: files.infer !== undefined, emit })
    await job.close()
  } catch (error) {
    await job.abort(error as Error)
    throw error
  }
}

function filesOf({ sources, trains }: TrainerConfig, onlyTest: boolean) {
  if (!trains) throw configError('The configuration has no cost to train.', 'outputs(regressionCost({ input, label }))')
  if (!sources)
    throw configError(
      'The configuration names no data.',
      "defineDataSources('data/train.list', 'data/test.list', process)",
    )
  const read = (list: string) => readFileList(list, process.cwd())
  return {
    ...(!onlyTest && { train: read(sources.trainList) }),
    ...(sources.testList !== undefined && { infer: read(sources.testList) }),
  }
}

function noticesOf(typed: TypedTrainerOptions): readonly string[] {
  const idle = (Object.keys(typed) as (keyof TypedTrainerOptions)[]).filter(
    (name) => TRAINER_OPTIONS[name].effect === 'unused',
  )
  return [
    ...idle.map((name) => `--${name} has no effect here: ${TRAINER_OPTIONS[name].what}.`),
    ...(typed.use_gpu ? ['--use_gpu=1: this build computes on the CPU.'] : []),
  ]
}
