import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Event } from '../../base/event/index.ts'
import { tableProgress } from './progress.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('a table tells its progress twice a second, and nothing if it is done sooner', () => {
  const events: Event[] = []
  const tell = tableProgress((event) => events.push(event), 'save', 'embedding', 100)
  for (let rows = 1; rows <= 16; rows++) {
    vi.advanceTimersByTime(100)
    tell(rows)
  }
  const common = { kind: 'progress', what: 'save', table: 'embedding', ofRows: 100 }
  expect(events).toEqual([5, 10, 15].map((rows) => ({ ...common, rows })))
})
