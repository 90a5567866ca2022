/** @file Takes up a newer export or index: beside the one that serves, then in its place. */
import { performance } from 'node:perf_hooks'
import type { EventSink } from '../../base/event/index.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import type { Batcher } from './batcher.ts'
import type { Metrics } from './metrics.ts'
import type { ScorerPool } from './pool.ts'
import type { FoundFolder } from './watch.ts'

const PLURALS = { model: 'exports', index: 'indexes' } as const

export interface ReloadOptions {
  readonly what: keyof typeof PLURALS
  readonly batcher: Batcher
  readonly metrics: Metrics
  readonly emit: EventSink
}

/** Opens the newer one beside the one that serves, then swaps them: no request waits and none is lost. */
export function reloader(
  open: (folder: string) => Promise<ScorerPool>,
  { what, batcher, metrics, emit }: ReloadOptions,
) {
  const counted = what === 'model' ? 'oarfish_reloads_total' : 'oarfish_index_reloads_total'
  const count = metrics.counter(counted, `Newer ${PLURALS[what]} found, by result.`, ['result'])
  const epoch = metrics.gauge(`oarfish_${what}_epoch`, `Epoch of the ${what} that is served.`)
  const loadedAt = metrics.gauge(
    `oarfish_${what}_loaded_timestamp_seconds`,
    `When the ${what} that is served was loaded.`,
  )
  const setGauges = () => {
    epoch(batcher.pool.loaded.manifest.epoch)
    loadedAt(Date.now() / 1000)
  }
  setGauges()
  return async ({ folder }: FoundFolder) => {
    const started = performance.now()
    try {
      const former = batcher.swap(await open(folder))
      setGauges()
      count(1, { result: 'ok' })
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      const message = `Serving epoch ${batcher.pool.loaded.manifest.epoch} of ${folder}, loaded in ${seconds} s`
      emit({ kind: 'notice', message })
      await former.close()
    } catch (error) {
      count(1, { result: 'failed' })
      emit({
        kind: 'warning',
        message: `The ${what} before is still served, since a newer one fails: ${textOf(error)}`,
      })
    }
  }
}

function textOf(error: unknown): string {
  return isUserError(error) ? formatUserError(error) : String((error as Error)?.message ?? error)
}
