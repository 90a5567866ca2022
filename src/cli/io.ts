/** @file What a command may use of the process: two streams, the environment and signals; tests hand in their own. */
import type { TerminalStream } from '../event/index.ts'

export interface CliStream extends TerminalStream {
  readonly isTTY?: boolean
  hasColors?(): boolean
}

export interface CliIo {
  readonly out: CliStream
  readonly err: CliStream
  /** Standard input, opened when it is asked for. */
  readonly input: () => AsyncIterable<Uint8Array>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  /** Calls the listener at each such signal; returns how to stop listening. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void
  /** Leaves at once. */
  readonly exit: (code: number) => void
}

export const STOP_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
export type StopSignal = keyof typeof STOP_SIGNALS

export function processIo(): CliIo {
  // A reader that has gone (`oarfish ... | head`) is no error of ours.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      process.exit(0)
    })
  }
  return {
    out: process.stdout,
    err: process.stderr,
    input: () => process.stdin,
    env: process.env,
    platform: process.platform,
    exit: (code) => process.exit(code),
    onSignal: (listener) => {
      const signals = Object.keys(STOP_SIGNALS) as StopSignal[]
      for (const signal of signals) process.on(signal, listener)
      return () => {
        for (const signal of signals) process.off(signal, listener)
      }
    },
  }
}
