import { expect, test } from 'vitest'
import { SessionCache } from './cache.ts'

test('the longest unused goes, and the first, second, fourth .. time it is said', async () => {
  const [dropped, said]: [string[], number[]] = [[], []]
  const cache = new SessionCache<string>({
    size: 2,
    drop: (entry) => {
      dropped.push(entry)
    },
    onOverflow: (count) => said.push(count),
  })
  let created = 0
  const get = (key: string) => cache.get(key, async () => `${key}${++created}`)
  expect([await get('a'), await get('b'), await get('a')]).toEqual(['a1', 'b2', 'a1'])
  expect(dropped).toEqual([])
  await get('c')
  expect(dropped).toEqual(['b2'])
  for (const key of ['d', 'e', 'f']) await get(key)
  expect(dropped).toEqual(['b2', 'a1', 'c3', 'd4'])
  expect(said).toEqual([1, 2, 4])
  expect([...cache.entries()]).toEqual(['e5', 'f6'])
})
