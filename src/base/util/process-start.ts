/** @file When a process was started: with its number it names one process for ever, where the number alone is given to others later. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** Undefined where no such process runs. */
export function processStart(pid: number): string | undefined {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid)
}

/** Clock ticks since the machine was started, and which start of the machine that was. */
function fromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything; what follows are the fields from the third on.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const isZombie = state === 'Z' || state === 'X'
    return isZombie ? undefined : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[18]}`
  } catch {
    return undefined
  }
}

function fromPs(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() || undefined
}
