/** @file `oarfish run`: the runners that `mode` selects, one after the other. */
import {
  checkRun,
  type LoadedRunConfig,
  type NodeV1,
  nodeFromEnv,
  type RunnerV1,
  selectedRunners,
} from '../../base/config/index.ts'
import type { Env } from '../../base/env/index.ts'
import type { EventSink, Metrics } from '../../base/event/index.ts'
import type { EngineName } from '../../training/threads/index.ts'
import { inferRunner } from './infer-runner.ts'
import { launchRunner } from './launch-runner.ts'
import { nodeRunner, ranksRunner } from './node-runner.ts'
import { showTables } from './phase.ts'
import { trainRunner } from './train-runner.ts'

export interface RunOptions {
  readonly config: LoadedRunConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends there. */
  readonly signal?: AbortSignal | undefined
  /** @default 'ort' */
  readonly engine?: EngineName | undefined
  /** Says whether this process is one of a job, and is handed to the processes of local_cluster_train. @default none */
  readonly env?: Env | undefined
  /** A backend.yaml was given, to which cluster_train submits. @default false */
  readonly backend?: boolean
}

export interface RunResult {
  /** Of each runner, in order: metrics of its last epoch, or of each model it evaluated. */
  readonly runners: readonly RunnerResult[]
  readonly interrupted: boolean
  /** Of the process of a local cluster that failed first; what was wrong has been said. */
  readonly exitCode?: number
}

export interface RunnerResult {
  readonly runner: string
  readonly samples: number
  readonly seconds: number
  /** By phase and folder (`phase1/3`) for infer, by phase for train. */
  readonly metrics: Readonly<Record<string, Metrics>>
  readonly exitCode?: number | undefined
}

/** What a runner works with. */
export interface RunnerContext {
  readonly config: LoadedRunConfig
  readonly emit: EventSink
  readonly signal: AbortSignal
  readonly engine: EngineName
  readonly env: Env
  readonly backend: boolean
  readonly runner: RunnerV1
}

/** Runs every selected runner. Everything that can be found out before is found out before the first begins. */
export async function runModes({
  config,
  emit,
  signal = new AbortController().signal,
  engine = 'ort',
  env = {},
  backend = false,
}: RunOptions): Promise<RunResult> {
  const node = nodeFromEnv(env)
  for (const message of config.warnings) emit({ kind: 'warning', message })
  for (const message of config.notices) emit({ kind: 'notice', message })
  checkRun(config, { backend, node: node !== undefined })
  const runners: RunnerResult[] = []
  for (const runner of selectedRunners(config.config, node?.runner)) {
    if (signal.aborted) break
    const context = { config, runner, emit, signal, engine, env, backend }
    showTables(context, node)
    const result = await runnerOf(runner, node)(context)
    runners.push(result)
    if (result.exitCode) return { runners, interrupted: signal.aborted, exitCode: result.exitCode }
    // Whatever trains in this process says itself that it is done.
    if (runner.class === 'train' || (node && runner.class.endsWith('cluster_train'))) continue
    const { samples, seconds } = result
    const metrics = Object.values(result.metrics).at(-1) ?? {}
    emit({ kind: 'done', samples, seconds, samplesPerSecond: seconds > 0 ? samples / seconds : 0, metrics })
  }
  return { runners, interrupted: signal.aborted }
}

type Run = (context: RunnerContext) => Promise<RunnerResult>

function runnerOf(runner: RunnerV1, node: NodeV1 | undefined): Run {
  if (runner.class === 'train') return trainRunner
  if (runner.class === 'infer') return inferRunner
  if (node && runner.fleet_mode === 'collective') return ranksRunner
  return node ? (context) => nodeRunner(context, node.cluster) : launchRunner
}
