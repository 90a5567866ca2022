/** @file `oarfish exec` in processes of their own, whose output is read as it comes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

export interface Started {
  readonly child: ChildProcess
  out: string
  err: string
  readonly ended: Promise<number | string>
  /** Resolves when this text was printed; rejects when the process ends before, or does not print it for long. */
  said(text: string): Promise<void>
}

/** Below the limit of a test, which would leave the process behind. */
const LONG_MS = 200_000

/** Without the variables of whatever runs the tests. */
export function cleanEnv(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(PADDLE|OARFISH|FLAGS)_|^POD_IP$|^TRAINING_ROLE$/.test(name),
  )
  return Object.fromEntries(own)
}

export function exec(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Started {
  return watched(spawn(process.execPath, [BIN, 'exec', program, ...args], { cwd, env: { ...cleanEnv(), ...env } }))
}

/** With what it ends by itself; one that does not is killed, and that is told. */
export async function endOf({ child, ended }: Started, limitMs = LONG_MS): Promise<number | string> {
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  return await ended.finally(() => clearTimeout(timer))
}

export function watched(child: ChildProcess): Started {
  const listeners = new Set<() => void>()
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const started: Started = {
    ...{ child, out: '', err: '', ended },
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (started.out.includes(text) || started.err.includes(text)) resolve()
        }
        listeners.add(look)
        look()
        const never = () => reject(new Error(`"${text}" did not come: ${started.out}${started.err}`))
        setTimeout(never, LONG_MS).unref()
        void ended.then((code) =>
          reject(new Error(`ended with ${code} before "${text}": ${started.out}${started.err}`)),
        )
      }),
  }
  const read = (stream: 'out' | 'err') => (text: string) => {
    started[stream] += text
    for (const look of listeners) look()
  }
  child.stdout!.setEncoding('utf8').on('data', read('out'))
  child.stderr!.setEncoding('utf8').on('data', read('err'))
  return started
}
