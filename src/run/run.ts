/** @file `oarfish run`: the runners that `mode` selects, one after the other. */
import { checkRun, type LoadedRunConfig, type RunnerV1, selectedRunners } from '../config/index.ts'
import type { EventSink, Metrics } from '../event/index.ts'
import type { EngineName } from '../train/index.ts'
import { inferRunner } from './infer-runner.ts'
import { trainRunner } from './train-runner.ts'

export interface RunOptions {
  readonly config: LoadedRunConfig
  readonly emit: EventSink
  /** Aborting finishes the steps under way and ends there. */
  readonly signal?: AbortSignal
  /** @default 'ort' */
  readonly engine?: EngineName
}

export interface RunResult {
  /** Of each runner, in order: metrics of its last epoch, or of each model it evaluated. */
  readonly runners: readonly RunnerResult[]
  readonly interrupted: boolean
}

export interface RunnerResult {
  readonly runner: string
  readonly samples: number
  readonly seconds: number
  /** By phase and folder (`phase1/3`) for infer, by phase for train. */
  readonly metrics: Readonly<Record<string, Metrics>>
}

/** What a runner works with. */
export interface RunnerContext extends Required<RunOptions> {
  readonly runner: RunnerV1
}

/** Runs every selected runner. Everything that can be found out before is found out before the first begins. */
export async function runModes({
  config,
  emit,
  signal = new AbortController().signal,
  engine = 'ort',
}: RunOptions): Promise<RunResult> {
  for (const message of config.warnings) emit({ kind: 'warning', message })
  for (const message of config.notices) emit({ kind: 'notice', message })
  checkRun(config)
  const runners: RunnerResult[] = []
  for (const runner of selectedRunners(config.config)) {
    if (signal.aborted) break
    const run = runner.class === 'infer' ? inferRunner : trainRunner
    const result = await run({ config, runner, emit, signal, engine })
    const { samples, seconds } = result
    const metrics = Object.values(result.metrics).at(-1) ?? {}
    emit({ kind: 'done', samples, seconds, samplesPerSecond: seconds > 0 ? samples / seconds : 0, metrics })
    runners.push(result)
  }
  return { runners, interrupted: signal.aborted }
}
