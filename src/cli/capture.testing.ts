/** @file Runs a command line in this process with its output captured. */
import type { CliIo, StopSignal } from './io.ts'
import { run } from './main.ts'

export interface Captured {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CaptureOptions {
  readonly isTTY?: boolean
  readonly env?: CliIo['env']
  /** Standard input. */
  readonly input?: string
}

/** A CliIo that records; `signal` plays a key press. */
export function captureIo({ isTTY = false, env = {}, input = '' }: CaptureOptions = {}) {
  const text = { out: '', err: '' }
  const exits: number[] = []
  const listeners = new Set<(signal: StopSignal) => void>()
  const stream = (name: 'out' | 'err') => ({
    columns: 80,
    isTTY,
    hasColors: () => isTTY,
    write: (chunk: string) => (text[name] += chunk),
    on: () => undefined,
    off: () => undefined,
  })
  const io: CliIo = {
    out: stream('out'),
    err: stream('err'),
    input: async function* () {
      yield new TextEncoder().encode(input)
    },
    isInteractive: isTTY,
    env,
    platform: 'linux',
    exit: (code) => exits.push(code),
    onSignal: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const signal = (name: StopSignal) => {
    for (const listener of listeners) listener(name)
  }
  return { io, text, exits, signal }
}

export async function capture(argv: readonly string[], options: CaptureOptions = {}): Promise<Captured> {
  const { io, text } = captureIo(options)
  const code = await run(argv, io)
  return { code, ...text }
}
