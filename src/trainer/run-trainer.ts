/** @file A trainer as a process: its configuration, its data, alone or with servers, pass after pass. */
import { performance } from 'node:perf_hooks'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import type { StepReport } from '../train/index.ts'
import { openClusterJob } from './cluster-job.ts'
import { planServers } from './endpoints.ts'
import { configError } from './errors.ts'
import { readFileList } from './file-list.ts'
import { type JobOptions, openLocalJob, type TrainerJob } from './job.ts'
import { loadTrainerConfig, type TrainerConfig } from './load-config.ts'
import { TRAINER_OPTIONS, type TrainerOptions, type TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions, isLocal } from './options.ts'
import { runPasses, testPasses } from './passes.ts'
import { locate } from './run-config.ts'
import { callServers } from './tell-servers.ts'

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
  emit({ kind: 'start', command: 'train', model: 'oarfish trainer', settings: { ...typed } })
  for (const message of noticesOf(typed)) emit({ kind: 'notice', message })
  const more = { emit, signal, ...(onStep && { onStep }) }
  const job = isLocal(typed)
    ? await openLocalJob({ ...(await loadJob(filled, 1)), ...more })
    : await openTogether(filled, { ...more, env })
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  try {
    const run = job.options.job === 'test' ? testPasses : runPasses
    await run(job, emit)
    await job.close()
  } catch (error) {
    await job.abort(error as Error)
    throw error
  }
}

/** Calls the servers before anything else: should this trainer fail from then on, the others of the job hear of it. */
async function openTogether(
  options: TrainerOptions,
  more: Pick<JobOptions, 'emit' | 'signal' | 'onStep'> & { readonly env: Env },
): Promise<TrainerJob> {
  const plan = planServers(options)
  const calls = callServers({ plan, options, env: more.env, emit: more.emit })
  try {
    return await openClusterJob({ ...(await loadJob(options, options.num_gradient_servers)), ...more, plan, calls })
  } catch (error) {
    await calls.abort(error as Error)
    throw error
  }
}

/** `nodes` take part in each step. */
async function loadJob(
  options: TrainerOptions,
  nodes: number,
): Promise<Pick<JobOptions, 'config' | 'options' | 'files'>> {
  const located = { ...options, config: locate(options.config) }
  const config = await loadTrainerConfig(located.config, options.config_args, nodes)
  return { config, options: located, files: filesOf(config, options.job === 'test') }
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
