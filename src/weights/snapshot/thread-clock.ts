/** @file The processor time of a thread: what else runs on a busy host is not in it, as it is in the time of day. */
import { closeSync, openSync, readSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Clock } from './block-writer.ts'

/** Of the thread that opens it; close it there. Elsewhere than on Linux the time of day. */
export interface ThreadClock extends Clock {
  close(): void
}

export function openThreadClock(): ThreadClock {
  let file: number
  try {
    file = openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return { now: () => performance.now(), close: () => undefined }
  }
  const text = Buffer.alloc(64)
  return {
    // Nanoseconds on a processor, nanoseconds of waiting for one, turns.
    now: () => {
      // The kernel brings the file up to date at its ticks, 4 ms apart, or when somebody asks for what the process used.
      process.cpuUsage()
      return Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6
    },
    close: () => closeSync(file),
  }
}
