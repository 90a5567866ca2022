import { expect, test, vi } from 'vitest'
import { paceLine, paceOn } from './pace.ts'

test('the share comes first, rate and rest once there is something to tell them by', () => {
  let now = 1000
  const rows = paceLine('writing', 'rows', () => now)
  expect(rows(0, 400_000)).toBe('writing 0%')
  now += 2000
  expect(rows(100_000, 400_000)).toBe('writing 25% 50.0k/s ETA 0:06')
  const bytes = paceLine('uploading a.tar', 'bytes', () => now)
  now += 10_000
  expect(bytes(30e6, 60e6)).toBe('uploading a.tar 50% 3.0 MB/s ETA 0:10')
  // More than was announced: a tar has heads, a file may grow.
  expect(bytes(70e6, 60e6)).toBe('uploading a.tar 100% 7.0 MB/s ETA 0:00')
})

test('a terminal sees at most ten lines a second and an empty one at the end, a file nothing', () => {
  const write = vi.fn()
  const show = paceOn({ isTTY: true, write }, 'writing', 'rows')
  for (let i = 1; i <= 1000; i++) show(i, 1000)
  expect(write.mock.calls.length).toBeLessThan(50)
  expect(write.mock.calls[0]![0]).toMatch(/^\rwriting 0% .*ETA /)
  expect(write.mock.lastCall![0]).toBe('\r\x1b[K')
  const silent = vi.fn()
  paceOn({ write: silent }, 'writing', 'rows')(1, 2)
  expect(silent).not.toHaveBeenCalled()
})
