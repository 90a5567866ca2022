/** @file runModes(): the runners of a PaddleRec 1.x config, one after the other. */
import type { LoadedRunConfig } from '../base/config/index.ts'
import { processEnv } from '../base/env/index.ts'
import type { RunResult } from '../paddle/paddlerec-v1/index.ts'
import type { WatchOptions } from './event-feed.ts'
import { type Run, startRun } from './run.ts'
import type { ComputeOptions } from './train.ts'

/** Options of runModes. */
export interface RunModesOptions extends WatchOptions, Pick<ComputeOptions, 'engine'> {
  /** What loadRunConfig returned. */
  readonly config: LoadedRunConfig
}

/**
 * Runs what `mode` of a PaddleRec 1.x config names, as `oarfish run` does.
 *
 * @example
 * const { runners } = await runModes({ config: loadRunConfig({ path: 'config.yaml' }) })
 */
export function runModes({ config, engine, ...watch }: RunModesOptions): Run<RunResult> {
  return startRun(watch, async ({ emit, signal }) => {
    const { runModes: run } = await import('../paddle/paddlerec-v1/index.ts')
    return await run({ config, emit, signal, engine, env: processEnv() })
  })
}
