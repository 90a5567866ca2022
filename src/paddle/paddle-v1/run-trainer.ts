/** @file A trainer as a process: its configuration, its lists of data files, alone or with servers, pass after pass. */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Env } from '../../base/env/index.ts'
import { type EventSink, noteForLauncher } from '../../base/event/index.ts'
import { defined } from '../../base/util/index.ts'
import type { StepReport } from '../../training/threads/index.ts'
import { openClusterJob } from './cluster-job.ts'
import { planServers } from './endpoints.ts'
import { configError, listError } from './errors.ts'
import { type JobOptions, openLocalJob, type TrainerJob } from './job.ts'
import { loadTrainerConfig, type TrainerConfig } from './load-config.ts'
import { TRAINER_OPTIONS, type TrainerOptions, type TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions, isLocal } from './options.ts'
import { runPasses, testPasses } from './passes.ts'
import { locate } from './run-config.ts'
import { connectToServers } from './set-up-trainer.ts'

export interface RunTrainerOptions {
  /** Of which nothing is wrong. */
  readonly typed: TypedTrainerOptions
  readonly env: Env
  readonly emit: EventSink
  /** Aborting ends training after the steps under way. */
  readonly signal?: AbortSignal
  readonly onStep?: ((report: StepReport) => void) | undefined
}

/** Trains as options and configuration say; rejects when this or another process of the job fails. */
export async function runTrainer(given: RunTrainerOptions): Promise<void> {
  const { typed, env, emit, signal = new AbortController().signal, onStep } = given
  const started = performance.now()
  const filled = fillTrainerOptions(typed)
  emit({ kind: 'start', command: 'train', model: 'oarfish trainer', settings: { ...typed } })
  for (const message of noticesOf(typed)) emit({ kind: 'notice', message })
  const more = { env, emit, signal, onStep }
  const job = isLocal(typed)
    ? await openLocalJob({ ...(await loadJob(filled, 1)), ...more })
    : await openTogether(filled, more)
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  try {
    if (job.options.job === 'test') await testPasses(job)
    else await runPasses(job, emit, (what) => noteForLauncher(env['OARFISH_LOG_FILE'], what))
    await job.close()
  } catch (error) {
    await job.abort(error as Error)
    throw error
  }
}

/** Connects to the servers before anything else: should this trainer fail from then on, the others of the job learn of it. */
async function openTogether(
  options: TrainerOptions,
  more: Pick<JobOptions, 'env' | 'emit' | 'signal' | 'onStep'>,
): Promise<TrainerJob> {
  const plan = planServers(options)
  const connections = connectToServers({ plan, options, env: more.env, emit: more.emit })
  try {
    const job = await loadJob(options, options.num_gradient_servers)
    return await openClusterJob({ ...job, ...more, plan, connections })
  } catch (error) {
    await connections.abort(error as Error)
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
  return defined({
    train: onlyTest ? undefined : read(sources.trainList),
    infer: sources.testList === undefined ? undefined : read(sources.testList),
  })
}

function noticesOf(typed: TypedTrainerOptions): readonly string[] {
  const idle = (Object.keys(typed) as (keyof TypedTrainerOptions)[]).filter(
    (name) => TRAINER_OPTIONS[name].effect === 'unused',
  )
  return idle.map((name) => `--${name} has no effect here: ${TRAINER_OPTIONS[name].what}.`)
}

/** The files that a list names, as absolute paths; names are relative to `folder`, as the original's are to the working folder. */
export function readFileList(list: string, folder: string): readonly string[] {
  const path = resolve(folder, list)
  if (!existsSync(path) || !statSync(path).isFile())
    throw listError(path, 'There is no such list of data files.', 'Write it: the name of one data file a line.')
  const lines = readFileSync(path, 'utf8').split(/\r?\n/)
  const files = lines.flatMap((line, at) => (line.trim() === '' ? [] : [{ name: line.trim(), line: at + 1 }]))
  if (files.length === 0) throw listError(path, 'The list names no files.', 'Write the name of one data file a line.')
  return files.map(({ name, line }) => {
    const file = resolve(folder, name)
    if (!existsSync(file) || !statSync(file).isFile())
      throw listError(path, `There is no data file ${name}.`, `Names are relative to ${folder}.`, line)
    return file
  })
}
