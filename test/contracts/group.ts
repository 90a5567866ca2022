/** @file What every group must do: one suite, called once for each way to carry numbers. The cases are in test/collective/cases.mjs. */
import { beforeAll, describe, expect, test } from 'vitest'
import { cases, someCases } from '../collective/cases.mjs'
import type { Ended, Line } from '../collective/ranks.testing.ts'

export interface GroupForm {
  readonly name: string
  /** What ranks run, by their number. */
  readonly works: Readonly<Record<number, Work>>
  /** Runs the cases on so many ranks; what each process said, whichever of them are ranks. */
  readonly run: (size: number, work: Work) => Promise<readonly Ended[]>
  /** Matched by the description. */
  readonly description: RegExp
}

const MINUTES = 60_000
const ASKED = {
  main: { who: 'the main thread', inThread: false },
  thread: { who: 'a thread that waits', inThread: true },
}
const WORKS = {
  cases: { cases, askers: [ASKED.main] },
  'cases-of-both': { cases, askers: [ASKED.main, ASKED.thread] },
  'some-cases': { cases: someCases, askers: [ASKED.main] },
}
type Work = keyof typeof WORKS

export function testGroup({ name, works, run, description }: GroupForm): void {
  const forms = Object.entries(works).map(([size, work]) => ({ size: Number(size), work, ...WORKS[work] }))
  describe.each(forms)(`${name}, $size ranks`, ({ size, work, cases, askers }) => {
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

    describe.each(askers)('asked by $who', ({ inThread }) => {
      test.each(Object.keys(cases))('%s', (title) => {
        const own = lines.filter((line) => line.case === title && line.inThread === inThread)
        expect(own.filter(({ ok }) => !ok)).toEqual([])
        expect(own.map(({ rank }) => rank).sort()).toEqual(Array.from({ length: size }, (_, rank) => rank))
        // The same bits on every rank, where the case says what they are.
        expect(new Set(own.map(({ digest }) => digest)).size).toBe(1)
      })
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
