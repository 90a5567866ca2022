/** @file What a command may use of the process: two streams, the environment and signals; tests hand in their own. */
import type { TerminalStream } from '../base/event/index.ts'

export interface CliStream extends TerminalStream {
  readonly isTTY?: boolean
  hasColors?(): boolean
}

export interface CliIo {
  readonly out: CliStream
  readonly err: CliStream
  /** Standard input, opened when it is asked for. */
  readonly input: () => AsyncIterable<Uint8Array>
  /** Somebody can be asked, and answers on standard input. */
  readonly isInteractive: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  /** Events are not shown, but for warnings. @default false */
  readonly quiet?: boolean | undefined
  /** Calls the listener at each such signal; returns how to stop listening. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void
  /** Leaves at once. */
  readonly exit: (code: number) => void
}

export const STOP_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
export type StopSignal = keyof typeof STOP_SIGNALS

/** Nothing on standard output; what must be known goes to standard error. */
export function quietIo(io: CliIo): CliIo {
  return {
    ...io,
    quiet: true,
    out: { ...io.err, isTTY: false, write: () => true, on: () => undefined, off: () => undefined },
  }
}

export function processIo(): CliIo {
  // onnxruntime reports its use to its makers unless this is set; nobody here has agreed to that.
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1'
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
    isInteractive: process.stdin.isTTY === true,
    env: process.env,
    platform: process.platform,
    exit: leave,
    onSignal: (listener) => {
      const signals = Object.keys(STOP_SIGNALS) as StopSignal[]
      for (const signal of signals) process.on(signal, listener)
      return () => {
        for (const signal of signals) process.off(signal, listener)
      }
    },
  }
}

/**
 * As the signal would end the process, where the code stands for one: process.exit ends threads first, and one that is
 * inside onnxruntime would abort the process instead.
 */
function leave(code: number): void {
  const signal = (Object.keys(STOP_SIGNALS) as StopSignal[]).find((name) => STOP_SIGNALS[name] === code)
  if (!signal || process.platform === 'win32') process.exit(code)
  process.emit('exit', code) // what this process has started is ended, as before any exit
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}
