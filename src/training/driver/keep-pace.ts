/** @file A worker that waits for slower ones: runner.max_staleness, between async, where nobody waits, and sync, where all do. */
import { performance } from 'node:perf_hooks'
import { readJson } from '../../base/net/index.ts'
import { METHODS, readPace, type ServerGroup } from '../ps/index.ts'

export interface KeepPaceOptions {
  readonly servers: Pick<ServerGroup, 'request'>
  /** runner.max_staleness. */
  readonly ahead: number
  /** Trainer threads: so many batches are a round. */
  readonly threads: number
  readonly notice: (message: string) => void
}

/** Hooks of that pass. */
export interface KeptPace {
  readonly beforeBatch: () => Promise<void> | undefined
  readonly onReport: () => void
}

const NOTICE_EVERY_MS = 30 * 1000

/** For one pass of one worker, which all workers have joined. Server 0 knows how far each has come. */
export function keepPace({ servers, ahead, threads, notice }: KeepPaceOptions): KeptPace {
  let [handedOut, trained, reported] = [0, 0, 0]
  let last = ahead
  let noticedAt = Number.NEGATIVE_INFINITY
  const rounds = (batches: number) => Math.floor(batches / threads)
  const report = async (next?: number) => {
    const body = Buffer.from(JSON.stringify({ done: rounds(trained), next, ahead }))
    return readJson(await servers.request(0, METHODS.pace, [body], 'pace()'), 'pace', readPace)
  }
  const wait = async (round: number) => {
    for (;;) {
      const { slowest, awaited } = await report(round)
      last = slowest === null ? Number.POSITIVE_INFINITY : slowest + ahead
      if (round <= last) return
      if (performance.now() - noticedAt < NOTICE_EVERY_MS) continue
      noticedAt = performance.now()
      const who = awaited.map((rank) => `worker[${rank}]`).join(', ')
      notice(`Waiting for ${who}, ${round - slowest!} batches behind: runner.max_staleness is ${ahead}.`)
    }
  }
  return {
    beforeBatch: () => {
      const round = rounds(handedOut++)
      return round <= last ? undefined : wait(round)
    },
    onReport: () => {
      if (rounds(++trained) <= reported) return
      reported = rounds(trained)
      // A server that is gone ends the pass by itself.
      report().catch(() => undefined)
    },
  }
}
