/** @file A node of a submitted job whose process dies: it starts again from what it has saved. */
import { getEventListeners } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Event } from '../../base/event/index.ts'
import type { Job } from '../submit/index.ts'
import { runRoles } from './node.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-node-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a shell's line as the job's only process. */
async function nodeOf(command: string, isAgain = false, signal = new AbortController().signal) {
  const events: Event[] = []
  const addresses = { servers: [], workers: ['127.0.0.1:1'], workerNum: 1 }
  const own = [{ role: 'worker', rank: 0, endpoint: '127.0.0.1:1', sockets: [] }] as const
  const code = await runRoles({
    job: { command, env: {}, data: {} } as unknown as Job,
    placement: async () => ({ addresses, token: 'secret', own }),
    env: { PATH: process.env['PATH']! },
    emit: (event) => events.push(event),
    signal,
    ...{ folder, logs: folder, isAgain },
  })
  const log = readFileSync(join(folder, 'trainer.0.log'), 'utf8')
  return { code, log, starts: events.filter((event) => event.kind === 'process' && event.state === 'running').length }
}

const SAVES = 'printf "begun\\nsaved\\n" > "$OARFISH_LOG_FILE.cuts"'

test('a process that is killed after a cut is started again, and its log goes on', async () => {
  const killed = `if [ -z "$OARFISH_RESUME" ]; then echo first; ${SAVES}; kill -9 $$; fi; echo "goes on"`
  expect(await nodeOf(killed)).toEqual({ code: 0, log: 'first\ngoes on\n', starts: 2 })
})

test('a program that knows nothing of cuts ends its job', async () => {
  expect(await nodeOf('kill -9 $$')).toMatchObject({ code: 137, starts: 1 })
})

test('a node whose agent is there for the second time is a further start, which may meet others that are not ready', async () => {
  const others = '[ "$OARFISH_RESTART" = 1 ] && { echo lost > "$OARFISH_LOG_FILE.cuts"; exit 2; }'
  expect(await nodeOf(`${others}; echo "start $OARFISH_RESTART"`, true)).toMatchObject({
    code: 0,
    log: expect.stringMatching(/start 2\n$/),
  })
  expect(await nodeOf('exit 2', true)).toMatchObject({ code: 2, starts: 1 })
})

test('starts that are over leave no listener on the signal of whoever started them', async () => {
  const { signal } = new AbortController()
  const killed = `if [ -z "$OARFISH_RESUME" ]; then ${SAVES}; kill -9 $$; fi`
  expect(await nodeOf(killed, false, signal)).toMatchObject({ code: 0, starts: 2 })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
