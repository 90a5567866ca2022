/** @file Sleeping on a word of memory that other processes write. Where the system has no such sleep, short naps do it. */
import { loadKoffi } from '../../../base/util/index.ts'

export interface Futex {
  /** Sleeps while the word is `value`, at most `timeoutMs`; may return early. */
  wait(word: Int32Array, value: number, timeoutMs: number): void
  /** Lets another thread of this processor run, which may be the one that is waited for. */
  pass(): void
  /** Wakes all that sleep on the word, in every process. */
  wake(word: Int32Array): void
}

const SYSTEM_CALL: Partial<Record<string, number>> = { x64: 202, arm64: 98 }
const [WAIT, WAKE] = [0, 1] // without the private flag: the word is of several processes
const ALL = 2 ** 31 - 1
const NAP_MS = 0.05

export function openFutex(): Futex {
  const number = process.platform === 'linux' ? SYSTEM_CALL[process.arch] : undefined
  if (number === undefined) return naps()
  const types = ['long', 'void *', 'int', 'int', 'void *', 'void *', 'int']
  const call = loadKoffi().load(null).func('syscall', 'long', types)
  const timeout = new BigInt64Array(2) // seconds, nanoseconds
  return {
    wait: (word, value, timeoutMs) => {
      timeout[1] = BigInt(Math.round(Math.min(timeoutMs, 999) * 1e6))
      call(number, word, WAIT, value, timeout, null, 0)
    },
    pass: loadKoffi().load(null).func('int sched_yield()'),
    wake: (word) => void call(number, word, WAKE, ALL, null, null, 0),
  }
}

function naps(): Futex {
  const bed = new Int32Array(new SharedArrayBuffer(4))
  return { wait: () => void Atomics.wait(bed, 0, 0, NAP_MS), pass: () => undefined, wake: () => undefined }
}
