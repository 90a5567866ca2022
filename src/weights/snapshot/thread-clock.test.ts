import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openThreadClock } from './thread-clock.ts'

// The kernel brings what it says of a thread up to date at its ticks: work that is followed by a wait before the next one was lost.
test.runIf(existsSync('/proc/thread-self/schedstat'))(
  'work between two waits is counted where it is done',
  async () => {
    const clock = openThreadClock()
    try {
      const began = clock.now()
      let working = 0
      for (let i = 0; i < 40; i++) {
        await setTimeout(2)
        const from = clock.now()
        for (let x = 0; x < 5_000_000; x++) Math.sqrt(x)
        working += clock.now() - from
      }
      expect(working / (clock.now() - began)).toBeGreaterThan(0.8)
    } finally {
      clock.close()
    }
  },
)
