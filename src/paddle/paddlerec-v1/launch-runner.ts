/** @file A runner of class local_cluster_train: its servers and workers as processes of this host, watched to their end. */
import { resolve } from 'node:path'
import { nodeEnv, phasesOf, readsSlots } from '../../base/config/index.ts'
import { packageFile } from '../../base/util/index.ts'
import { countPieces, measureFiles } from '../../data/index.ts'
import { launch, localLayout } from '../../jobs/launch/index.ts'
import { type ReadyPhase, readyPhase } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'

const LOGS = 'logs'
const OARFISH = [process.execPath, packageFile('bin/oarfish.js')]

export async function launchRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal, env } = context
  const [phase, ...more] = phasesOf(config.config, runner)
  if (more.length > 0) emit({ kind: 'warning', message: 'Cluster Train Only Support One Phase.' })
  // What is wrong with the model or its data is said here, once, and not by every process.
  const ready = await readyPhase(context, phase!)
  warnOfUnused(context)
  const workers = workersFor(context, ready)
  const { path, cwd } = config.config
  emit({ kind: 'notice', message: `launch GeneralTrainer engine with cluster to run model: ${path}` })
  const job = await launch({
    layout: localLayout(runner.server_num, workers, runner.fleet_mode === 'hybrid'),
    script: ['oarfish', 'run', '-m', path, '--engine', context.engine],
    logDir: resolve(cwd, LOGS),
    logName: (role, index) => `${role}.${index}`,
    env: { ...env, ...nodeEnv(runner.name) },
    oarfish: OARFISH,
    emit,
    signal,
  })
  const code = await job.ended
  const message = `all workers already completed, you can view logs under the \`${LOGS}\` directory`
  if (code === 0) emit({ kind: 'notice', message })
  return { runner: runner.name, samples: 0, seconds: 0, metrics: {}, exitCode: code || undefined }
}

/** No more workers than there are pieces of data: one without any would do nothing. */
function workersFor({ runner, emit }: RunnerContext, { dataset, files }: ReadyPhase): number {
  const pieces = countPieces(measureFiles(files), readsSlots(dataset) ? 'text' : 'user')
  if (pieces >= runner.worker_num) return runner.worker_num
  const message = `phases do not have enough datas for training, set worker/gpu cards num from ${runner.worker_num} to ${pieces}`
  emit({ kind: 'warning', message })
  return pieces
}

const UNUSED = ['save_step_path', 'runner_result_dump_path'] as const

function warnOfUnused({ runner, emit }: RunnerContext): void {
  const set = UNUSED.filter((key) => runner[key] !== '').map((key) => `runner.${runner.name}.${key}`)
  if (set.length > 0) emit({ kind: 'warning', message: `${runner.class} does not use ${set.join(', ')}` })
}
