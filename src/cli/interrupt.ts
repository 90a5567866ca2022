/** @file How a command ends: by an exit code of its own, by Ctrl+C (the first asks the work to stop after its step, the second leaves at once), or with its launcher. */
import { type CliIo, STOP_SIGNALS, type StopSignal } from './io.ts'
import type { Output } from './output.ts'

export interface InterruptHooks {
  /** After the first signal, while the step under way is finished. */
  readonly onStopping: () => void
  /** Before the process leaves on the second: put the terminal in order. */
  readonly onLeaving: () => void
}

/** Thrown after everything worth saying was printed. */
export class ExitCode extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`)
    this.exitCode = exitCode
  }
}

/** Thrown after work that a signal stopped has ended in good order. */
export class Interrupted extends ExitCode {
  override readonly name = 'Interrupted'

  constructor(signal: StopSignal) {
    super(STOP_SIGNALS[signal])
  }
}

/** Aborted by the first signal. */
export function stopSignal(io: Pick<CliIo, 'onSignal'>): AbortSignal {
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  return stop.signal
}

/** Ends the command with the code of what it ran; undefined: that was asked to stop. */
export function exitWith(code: number | undefined): void {
  if (code !== 0) throw new ExitCode(code ?? STOP_SIGNALS.SIGTERM)
}

/** What most commands say after the first Ctrl+C. */
export const STOPPING = 'Stopping after the step under way; Ctrl+C again leaves at once.'

/** Runs `work`, whose events go to `output`, to its end or until a signal stops it. */
export async function untilDone(
  io: Pick<CliIo, 'onSignal' | 'exit'>,
  output: Output,
  work: (signal: AbortSignal) => Promise<unknown>,
  stopping = STOPPING,
): Promise<void> {
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message: stopping }), onLeaving: output.close }
  try {
    await untilInterrupted(io, hooks, work)
  } finally {
    output.close()
  }
}

/** Runs `work`; throws Interrupted when a signal stopped it. */
export async function untilInterrupted(
  io: Pick<CliIo, 'onSignal' | 'exit'>,
  { onStopping, onLeaving }: InterruptHooks,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController()
  let stoppedBy: StopSignal | undefined
  const stopListening = io.onSignal((signal) => {
    if (stoppedBy) {
      onLeaving()
      io.exit(STOP_SIGNALS[signal])
      return
    }
    stoppedBy = signal
    onStopping()
    controller.abort()
  })
  try {
    await work(controller.signal)
  } catch (error) {
    // Work that only waited ends with the reason of the signal: it has nothing else to say.
    if (!stoppedBy || error !== controller.signal.reason) throw error
  } finally {
    stopListening()
  }
  if (stoppedBy) throw new Interrupted(stoppedBy)
}

/** A process started by a launcher does not outlive it, however the launcher ended. One that was started ahead rehearses, and waits for its turn. */
export async function underLauncher(
  { env, exit }: Pick<CliIo, 'env' | 'exit'>,
  rehearse: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const { watchLifeline } = await import('../jobs/launch/index.ts')
  const turn = watchLifeline({
    env,
    parentPid: process.ppid,
    onLost: () => process.kill(process.pid, 'SIGTERM'),
    leave: () => exit(1),
  })
  if (!turn) return
  await rehearse().catch(() => undefined) // what is wrong, the start itself says
  await turn
}
