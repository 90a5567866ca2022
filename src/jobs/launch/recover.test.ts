/** @file Which ends of a job are followed by another start, and what that one goes on from. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Event, noteForLauncher } from '../../base/event/index.ts'
import { type RecoverOptions, type Restart, recovering } from './recover.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-recover-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Note = Parameters<typeof noteForLauncher>[1]

/** One start: what its process notes, and its exit code. */
type Start = readonly [code: number | undefined, ...notes: Note[]]

let runs = 0

/** The starts that a job makes whose processes behave so, one after the other. */
async function startsOf(starts: readonly Start[], options: Partial<RecoverOptions> = {}) {
  const log = join(folder, `log.${runs++}`)
  const made: Restart[] = []
  const events: Event[] = []
  const job = await recovering(
    async (restart) => {
      const [code, ...notes] = starts[made.length]!
      made.push(restart)
      const ended = Promise.resolve().then(() => {
        for (const note of notes) noteForLauncher(log, note)
        return code
      })
      return { ended, kill: () => undefined, logs: [log], failedLog: () => log }
    },
    { emit: (event) => events.push(event), signal: new AbortController().signal, ...options },
  )
  const code = await job.ended
  return { code, starts: made.length, resumed: made.map(({ resumes }) => resumes), events }
}

const KILLED = 137

test('a job that is killed goes on from what it has saved, or begins anew where that is nothing', async () => {
  expect(
    await startsOf([
      [KILLED, 'begun'],
      [KILLED, 'begun', 'saved'],
      [0, 'begun'],
    ]),
  ).toMatchObject({
    code: 0,
    resumed: [false, false, true],
  })
})

test('what does not say that it can go on is not started again', async () => {
  expect(await startsOf([[KILLED]])).toMatchObject({ code: KILLED, starts: 1 })
})

test('an end by itself is repeated once something is saved; what a user can mend is not', async () => {
  expect(
    await startsOf([
      [1, 'begun', 'saved'],
      [0, 'begun'],
    ]),
  ).toMatchObject({ code: 0, starts: 2 })
  expect(await startsOf([[1, 'begun']])).toMatchObject({ code: 1, starts: 1 })
  expect(await startsOf([[2, 'begun', 'saved']])).toMatchObject({ code: 2, starts: 1 })
  expect(await startsOf([[127, 'begun', 'saved']])).toMatchObject({ code: 127, starts: 1 })
  expect(await startsOf([[undefined, 'begun', 'saved']])).toMatchObject({ code: undefined, starts: 1 })
})

test('cuts that were begun and never became whole do not count', async () => {
  const never: Start = [KILLED, 'begun', 'taken', 'taken']
  expect(await startsOf([never, never, never, never], { maxRestart: 2 })).toMatchObject({ code: KILLED, starts: 3 })
  expect(await startsOf([[1, 'begun', 'taken']])).toMatchObject({ code: 1, starts: 1 })
})

test('one that ends since another is gone is started again', async () => {
  expect(
    await startsOf([
      [2, 'begun', 'saved', 'lost'],
      [0, 'begun'],
    ]),
  ).toMatchObject({ code: 0, starts: 2 })
})

test('failures count since the last cut', async () => {
  const again: Start = [KILLED, 'begun']
  const further: Start = [KILLED, 'begun', 'saved']
  const most = { maxRestart: 2 }
  const ended = await startsOf([[KILLED, 'begun', 'saved'], again, further, again, again], most)
  expect(ended).toMatchObject({ code: KILLED, starts: 5 })
  expect(ended.events.at(-1)).toMatchObject({
    kind: 'warning',
    message: expect.stringMatching(/2 times .*--resume/),
  })
})

test('on several hosts, those that are not there yet are waited for without counting', async () => {
  const early: Start = [2, 'begun', 'lost']
  const starts = [[KILLED, 'begun', 'saved'] as Start, early, early, [0, 'begun'] as Start]
  expect(await startsOf(starts, { maxRestart: 1, isSpread: true })).toMatchObject({ code: 0, starts: 4 })
  expect(await startsOf(starts, { maxRestart: 1 })).toMatchObject({ code: 2, starts: 2 })
})

test('a start that is killed before it could say that it can go on is one of a job that can', async () => {
  expect(await startsOf([[KILLED, 'begun'], [KILLED], [0, 'begun']])).toMatchObject({ code: 0, starts: 3 })
})

test('on several hosts, those that do not come back end the job with what to type, however many starts are left', async () => {
  const starts: Start[] = [[2, 'begun', 'taken', 'lost'], [2, 'begun', 'lost'], [2, 'lost'], [0]]
  const { events, ...ended } = await startsOf(starts, { maxRestart: 100, isSpread: true, gatherMs: 0 })
  expect(ended).toMatchObject({ code: 2, starts: 3 })
  expect(events.at(-1)).toMatchObject({
    kind: 'warning',
    message: expect.stringMatching(/did not come back.*--resume/),
  })
})
