/** @file A job of one host whose processes die: all of it is started again from its last cut. */
import type { Env } from '../../base/env/index.ts'
import { countCuts, type EventSink, forgetCuts } from '../../base/event/index.ts'
import type { RunningJob } from './supervise.ts'

export interface RecoverOptions {
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** Starts without a new cut between them, after which the job ends. @default 3 */
  readonly maxRestart?: number | undefined
}

/** A job whose start can be repeated: `restart` is 0 the first time. */
export interface StartedJob extends RunningJob {
  /** Of its processes. */
  readonly logs: readonly string[]
}

export const MAX_RESTART = 3

/** What processes of a start know that is not the first. */
export const restartEnv = (restart: number): Env => (restart > 0 ? { OARFISH_RESUME: '1' } : {})

/** Supervises the job over all its starts; the exit code is that of the last. */
export async function recovering(
  start: (restart: number) => Promise<StartedJob>,
  { emit, signal, maxRestart = MAX_RESTART }: RecoverOptions,
): Promise<RunningJob> {
  let job = await start(0)
  const { logs } = job
  const forget = () => logs.forEach(forgetCuts)
  forget() // those of an earlier launch
  const cuts = () => logs.reduce((sum, log) => sum + countCuts(log), 0)
  const run = async (): Promise<number | undefined> => {
    let [restart, failed, before] = [0, 0, 0]
    for (;;) {
      const code = await job.ended
      const saved = cuts()
      failed = saved > before ? 1 : failed + 1
      before = saved
      if (!wasKilled(code) || saved === 0 || signal.aborted) return code
      if (failed > maxRestart) {
        emit({ kind: 'warning', message: usedUp(maxRestart) })
        return code
      }
      restart++
      emit({ kind: 'notice', message: `Starting again from the last cut: ${failed} of ${maxRestart} times since it.` })
      job = await start(restart)
    }
  }
  return { ended: run().finally(forget), kill: () => [job.kill(), forget()] }
}

/** By a signal: what a process says itself, it would say again. */
const wasKilled = (code: number | undefined) => code !== undefined && code > 128

const usedUp = (times: number) =>
  `The job was started again ${times} times without a new cut, and ends. Once the cause is found, the same command with --resume goes on from the last cut.`
