/** @file One process of a job: started in a group of its own, signalled with all it started, its output in a file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import type { Env } from '../../base/env/index.ts'
import { forgetNotes } from '../../base/event/index.ts'
import { LIFELINE, STANDBY } from './lifeline.ts'
import type { JobRole } from './process-env.ts'
import type { BoundSocket } from './sockets.ts'

export interface ProcessSpec {
  readonly role: JobRole
  readonly rank: number
  readonly endpoint: string
  readonly env: Env
  readonly log: string
  /** @default that of this process */
  readonly cwd?: string | undefined
  /** Goes on when the launcher is gone. @default false: it ends with it */
  readonly outlives?: boolean
  /** It was started before: its log goes on. @default false */
  readonly goesOn?: boolean
  /** Handed over, then given up here. */
  readonly sockets: readonly BoundSocket[]
}

export interface Exit {
  /** What a shell would show: the exit code, or 128 + the signal's number. */
  readonly code: number
  /** `exit code 3`, `signal SIGKILL`, or why it could not be started. */
  readonly text: string
}

export interface Child {
  readonly spec: ProcessSpec
  /** 0 when it could not be started. */
  readonly pid: number
  readonly exited: Promise<Exit>
  readonly exit: Exit | undefined
  /** Where its own lines begin in its log. @default 0 */
  readonly logFrom?: number
  /** Its turn has come: of a process that was started ahead. */
  begin?(): void
  /** Signals the process and all it started; does nothing after its end. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void
}

const IS_POSIX = process.platform !== 'win32'
const LIFELINE_FD = 3
const LEFTOVER_MS = 500

/** Starts `command` without waiting; a command that cannot be started ends at once. `isAhead`: it waits for `begin`. */
export function startChild(spec: ProcessSpec, command: readonly string[], isAhead = false): Child {
  const log = openSync(spec.log, spec.goesOn ? 'a' : 'w')
  if (!spec.goesOn) forgetNotes([spec.log]) // those of an earlier launch
  const { size } = fstatSync(log)
  // Beside it go Paddle's side files, and what the launcher's terminal shows of the process.
  const env: NodeJS.ProcessEnv = { ...spec.env, OARFISH_LOG_FILE: resolve(spec.log) }
  if (isAhead) env[STANDBY] = '1'
  if (!spec.outlives) env[LIFELINE] = `${process.pid}:${LIFELINE_FD}`
  const fds = spec.sockets.map(({ port }, i) => `${port}:${LIFELINE_FD + 1 + i}`)
  if (fds.length > 0) env['OARFISH_LISTEN_FDS'] = fds.join(',')
  const started = spawn(command[0]!, command.slice(1), {
    cwd: spec.cwd,
    env,
    // A group of its own: Ctrl+C reaches it only through the launcher, and a signal reaches also what it started.
    detached: IS_POSIX,
    stdio: ['ignore', log, log, spec.outlives ? 'ignore' : 'pipe', ...spec.sockets.map(({ fd }) => fd)],
  })
  closeSync(log)
  for (const socket of spec.sockets) socket.close()
  return watch(spec, started, spec.goesOn ? size : 0)
}

function watch(spec: ProcessSpec, started: ChildProcess, logFrom: number): Child {
  const pid = started.pid ?? 0
  let exit: Exit | undefined
  let from = logFrom
  const exited = new Promise<Exit>((resolve) => {
    const end = (how: Exit) => {
      exit ??= how
      resolve(exit)
    }
    started.once('error', (error) => end({ code: 127, text: `it could not be started: ${error.message}` }))
    started.once('exit', (code, signal) => {
      end(
        signal
          ? { code: 128 + constants.signals[signal], text: `signal ${signal}` }
          : { code: code!, text: `exit code ${code}` },
      )
      endLeftovers(pid)
    })
  })
  const lifeline = started.stdio[LIFELINE_FD] as Writable | null | undefined
  // The child never writes there; closing its end must not bring the launcher down.
  lifeline?.on('error', () => undefined)
  return {
    spec,
    pid,
    exited,
    get logFrom() {
      return from
    },
    begin: () => {
      from = statSync(spec.log).size // its predecessor has written there meanwhile
      lifeline?.write('\n')
    },
    get exit() {
      return exit
    },
    signal: (name) => {
      if (pid <= 0 || exit !== undefined) return
      signalGroup(pid, name)
      // One that is stopped hears of neither this nor the end of its launcher.
      if (name === 'SIGTERM') signalGroup(pid, 'SIGCONT')
    },
  }
}

/** False when nobody is left. */
function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'): boolean {
  try {
    return process.kill(IS_POSIX ? -pid : pid, name)
  } catch {
    return false
  }
}

/**
 * What a process leaves behind in its group (a pipe command, say) ends with it. Asked right after its end: as long as
 * somebody is in the group its number belongs to no one else, so the second signal cannot hit a stranger either.
 */
function endLeftovers(pid: number): void {
  if (!IS_POSIX || !signalGroup(pid, 'SIGTERM')) return
  setTimeout(() => signalGroup(pid, 'SIGKILL'), LEFTOVER_MS)
}
