/** @file `npm run fuzz` in short: some thousand cases of every target, and all that ever went wrong. */
import { describe, expect, test } from 'vitest'
import { keptCases, runCases, runKept, TARGET_NAMES } from '../../scripts/fuzz.mjs'

/** Cases of each target: a few seconds each on a quiet machine. */
const CASES = 1000
const MINUTES = 60_000

describe('fuzz', () => {
  test('the script knows every target, and one that is not there is refused with their names', async () => {
    const [finding] = await runCases('nothing', { to: 1 })
    expect(finding?.what).toContain(`no target "nothing": ${TARGET_NAMES.join(', ')}`)
  })

  test.each(TARGET_NAMES)(
    '%s refuses damaged input with a reason, and nothing worse happens',
    { timeout: 5 * MINUTES },
    async (name) => {
      expect(await runCases(name, { to: CASES })).toEqual([])
    },
  )

  const kept = TARGET_NAMES.flatMap((name) => keptCases(name).map((file) => [name, file] as const))
  test.each(kept)('%s: what once went wrong (%s) does not any more', { timeout: MINUTES }, async (name, file) => {
    expect(await runKept(name, file)).toEqual([])
  })
})
