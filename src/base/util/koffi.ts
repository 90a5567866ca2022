/** @file koffi, loaded where it is first needed: most runs call no library of the system. */
import { createRequire } from 'node:module'

export type Koffi = typeof import('koffi')
export type LibraryHandle = ReturnType<Koffi['load']>

export function loadKoffi(): Koffi {
  return createRequire(import.meta.url)('koffi') as Koffi
}

/**
 * Ends the process now. process.exit would wait for the communication thread, which cannot be woken out of a library's call.
 * Other exit handlers run first.
 */
export function leaveNow(code: number, own?: (code: number) => void): never {
  for (const listener of process.listeners('exit')) if (listener !== own) listener(code)
  if (process.platform !== 'win32') loadKoffi().load(null).func('void _exit(int)')(code)
  process.kill(process.pid, 'SIGKILL')
  throw new Error('internal: the process outlived its end')
}
