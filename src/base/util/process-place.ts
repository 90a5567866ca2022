/** @file Where process numbers mean the same: one start of one machine, and one namespace of it. */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** The same for two processes that can tell by a number whether the other runs; containers of one machine differ. */
export function processPlace(): string {
  return [
    hostname(),
    attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace(),
  ].join(' ')
}

/** `4026531836`; empty where the system has no such thing. */
export function pidNamespace(): string {
  return attempt(() => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0])
}

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/** False only where it certainly does not run; of another user it is seen too. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
