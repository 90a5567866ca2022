/** @file A pipe between launcher and process: when the launcher is gone, however it ended, the process ends too. */
import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Env } from '../../base/env/index.ts'
import { isRunning } from '../../base/util/index.ts'

/** `PID:FD`: the launcher's process id and the descriptor in its child. Grandchildren see the variable but not that parent. */
export const LIFELINE = 'OARFISH_LIFELINE'
const LEAVE_MS = 5000

export interface LifelineOptions {
  readonly env: Env
  readonly parentPid: number
  /** Asks this process to end in good order. */
  readonly onLost: () => void
  /** Ends it, when it did not. */
  readonly leave: () => void
}

/** Called by a process early on; does nothing when no launcher started it. */
export function watchLifeline({ env, parentPid, onLost, leave }: LifelineOptions): void {
  const [, pid, fd] = /^(\d+):(\d+)$/.exec(env[LIFELINE] ?? '') ?? []
  if (fd === undefined || !isPipe(Number(fd))) return
  const lost = () => {
    onLost()
    setTimeout(leave, LEAVE_MS).unref()
  }
  if (Number(pid) !== parentPid) {
    // A launcher that was killed while this process came up is its parent no more.
    if (!isRunning(Number(pid))) setImmediate(lost)
    return
  }
  const pipe = new Socket({ fd: Number(fd), readable: true, writable: false })
  pipe.once('close', lost).on('error', () => undefined)
  pipe.resume().unref()
}

function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}
