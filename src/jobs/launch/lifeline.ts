/**
 * @file A pipe between launcher and process: when the launcher is gone, however it ended, the process ends too. Where the process was started
 * ahead, a byte of the launcher says that its turn has come.
 */
import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Env } from '../../base/env/index.ts'
import { isRunning } from '../../base/util/index.ts'

/** `PID:FD`: the launcher's process id and the descriptor in its child. Grandchildren see the variable but not that parent. */
export const LIFELINE = 'OARFISH_LIFELINE'
/** `1`: started ahead of its turn; it loads what it will need, and waits. */
export const STANDBY = 'OARFISH_STANDBY'
const LEAVE_MS = 5000

export interface LifelineOptions {
  readonly env: Env
  readonly parentPid: number
  /** Asks this process to end in good order. */
  readonly onLost: () => void
  /** Ends it, when it did not. */
  readonly leave: () => void
}

/** Called by a process early on; does nothing when no launcher started it. Returns what resolves with its turn, if it was started ahead. */
export function watchLifeline({ env, parentPid, onLost, leave }: LifelineOptions): Promise<void> | undefined {
  const [, pid, fd] = /^(\d+):(\d+)$/.exec(env[LIFELINE] ?? '') ?? []
  if (fd === undefined || !isPipe(Number(fd))) return undefined
  const lost = () => {
    onLost()
    setTimeout(leave, LEAVE_MS).unref()
  }
  if (Number(pid) !== parentPid) {
    // A launcher that was killed while this process came up is its parent no more.
    if (!isRunning(Number(pid))) setImmediate(lost)
    return undefined
  }
  const pipe = new Socket({ fd: Number(fd), readable: true, writable: false })
  pipe.once('close', lost).on('error', () => undefined)
  if (env[STANDBY] !== '1') {
    pipe.resume().unref()
    return undefined
  }
  return new Promise((resolve) => {
    pipe.once('data', () => {
      pipe.unref()
      resolve()
    })
  })
}

function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}
