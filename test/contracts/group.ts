/** @file What every group must do: one suite, called once for each way to carry numbers. The cases are in test/collective/cases.mjs. */
import { beforeAll, describe, expect, test } from 'vitest'
import { cases } from '../collective/cases.mjs'
import type { Ended, Line } from '../collective/ranks.testing.ts'

export interface GroupForm {
  readonly name: string
  readonly sizes: readonly number[]
  /** Runs the cases on so many ranks; what each process said, whichever of them are ranks. */
  readonly run: (size: number, work: 'cases' | 'cases-in-thread') => Promise<readonly Ended[]>
  /** Matched by the description. */
  readonly description: RegExp
}

const MINUTES = 60_000

export function testGroup({ name, sizes, run, description }: GroupForm): void {
  const forms = [
    ...sizes.map((size) => ({ size, work: 'cases', where: 'asked by the main thread' }) as const),
    { size: 3, work: 'cases-in-thread', where: 'asked by a thread that waits' } as const,
  ]
  describe.each(forms)(`${name}, $size ranks, $where`, ({ size, work }) => {
    let lines: readonly Line[] = []

    beforeAll(async () => {
      const ended = await run(size, work)
      lines = ended.flatMap((one) => one.lines)
      const text = ended.map((one) => one.text).join('')
      expect(
        lines.filter(({ failure }) => failure !== undefined),
        text,
      ).toEqual([])
      expect(
        ended.map(({ code }) => code),
        text,
      ).toEqual(ended.map(() => 0))
    }, 3 * MINUTES)

    test.each(Object.keys(cases))('%s', (title) => {
      const own = lines.filter((line) => line.case === title)
      expect(own.filter(({ ok }) => !ok)).toEqual([])
      expect(own.map(({ rank }) => rank).sort()).toEqual(Array.from({ length: size }, (_, rank) => rank))
      // The same bits on every rank, where the case says what they are.
      expect(new Set(own.map(({ digest }) => digest)).size).toBe(1)
    })

    test('every rank knows its place and leaves in good order', () => {
      const first = lines.filter((line) => line.description !== undefined)
      expect(first.map(({ rank }) => rank).sort()).toEqual(Array.from({ length: size }, (_, rank) => rank))
      for (const line of first) {
        expect(line.size).toBe(size)
        expect(line.description).toMatch(description)
      }
      expect(lines.filter(({ closed }) => closed)).toHaveLength(size)
    })
  })
}
