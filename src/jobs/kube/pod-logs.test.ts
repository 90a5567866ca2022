/** @file Logs that outlive their pods: read again after a break, and one below the other for pods in one place. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { V1Pod } from '@kubernetes/client-node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KubeError } from './errors.ts'
import { openPodLogs } from './pod-logs.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pod-logs-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const trainer = (uid: string): V1Pod => ({
  metadata: { uid, name: 'job-trainer-0', labels: { 'oarfish.dev/role': 'trainer' } },
  spec: { nodeName: 'a', containers: [] },
  status: {
    containerStatuses: [
      { name: 'trainer', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } },
    ],
  },
})

/** Answers each request for a log with the next of these; an error breaks it off. */
function answering(...answers: readonly (readonly (string | Error)[])[]) {
  const rest = [...answers]
  return {
    logs: async () => pieces(rest.shift() ?? []),
    read: async () => undefined as never,
  }
}

async function* pieces(texts: readonly (string | Error)[]): AsyncGenerator<Buffer> {
  for (const text of texts) {
    if (text instanceof Error) throw text
    yield Buffer.from(text)
  }
}

const text = () => readFileSync(join(folder, 'trainer.0.log'), 'utf8')

test('a stream that breaks is read again, without what was there', async () => {
  const client = answering(['one\nt', new Error('gone')], ['on', 'e\ntwo\n', 'three\n'])
  const logs = openPodLogs({ client, folder, signal: AbortSignal.timeout(100_000), say: () => undefined })
  logs.follow([trainer('1')])
  logs.follow([trainer('1')])
  await logs.settled(100_000)
  expect(text()).toBe('one\ntwo\nthree\n')
})

test('whoever follows after another passes over what that one has read', async () => {
  const signal = AbortSignal.timeout(100_000)
  const first = openPodLogs({ client: answering(['one\n']), folder, signal, say: () => undefined })
  first.follow([trainer('1')])
  await first.settled(100_000)
  const second = openPodLogs({ client: answering(['one\ntwo\n']), folder, signal, say: () => undefined })
  second.follow([trainer('1')])
  await second.settled(100_000)
  expect(text()).toBe('one\ntwo\n')
})

test('a pod that takes the place of another writes below it', async () => {
  const client = answering(['first\n'], ['second\n'])
  const logs = openPodLogs({ client, folder, signal: AbortSignal.timeout(100_000), say: () => undefined })
  logs.follow([trainer('1')])
  await logs.settled(100_000)
  logs.follow([trainer('2')])
  await logs.settled(100_000)
  expect(text()).toBe('first\n--- started again, as job-trainer-0 on a\nsecond\n')
})

test('of a pod that is gone nothing more can be read, and that is said once', async () => {
  const gone = new KubeError(404, 'pods "job-trainer-0" not found.', { code: 'KUBE_NOT_FOUND' })
  const said: string[] = []
  const logs = openPodLogs({
    client: answering([gone]),
    folder,
    signal: AbortSignal.timeout(100_000),
    say: (line) => said.push(line),
  })
  logs.follow([trainer('1')])
  await logs.settled(100_000)
  expect(said).toEqual(['The log of trainer 0 cannot be read: pods "job-trainer-0" not found.'])
})
