/** @file Ctrl+C: the first asks the work to stop after its step, the second leaves at once. */
import { type CliIo, STOP_SIGNALS, type StopSignal } from './io.ts'

export interface InterruptHooks {
  /** After the first signal, while the step under way is finished. */
  readonly onStopping: () => void
  /** Before the process leaves on the second: put the terminal in order. */
  readonly onLeaving: () => void
}

/** Thrown after work that a signal stopped has ended in good order: there is nothing more to print. */
export class Interrupted extends Error {
  readonly exitCode: number

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`)
    this.name = 'Interrupted'
    this.exitCode = STOP_SIGNALS[signal]
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
