/** @file A node over ssh whose agent dies: another takes its place, as long as there is one to take. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Event } from '../../base/event/index.ts'
import { driveNode } from './ssh-node.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-ssh-node-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An agent that gives its text, notes its task and then does what `line` says; the answer is in $ANSWER, the task in $TASK. */
const agent = (line: string) => ({
  spawn: () =>
    spawn('sh', ['-c', `read -r TASK; echo "$TASK" >> ${folder}/tasks; ${line}`], { stdio: ['pipe', 'pipe', 'pipe'] }),
})
const GIVES = 'echo "%exchange mine"; read -r ANSWER'

function driven(first: string, next: readonly string[], awayMs?: number) {
  rmSync(join(folder, 'tasks'), { force: true })
  const events: Event[] = []
  const left = [...next]
  const node = driveNode(agent(first), {
    words: [],
    task: { node: 1 } as never,
    folder,
    onExchange: () => node.answer(['theirs', 'mine']),
    emit: (event) => events.push(event),
    reopen: async () => {
      const line = left.shift()
      if (line === undefined || line === 'away') throw new Error('no route')
      return agent(line) as never
    },
    awayMs,
  })
  const tasks = () => readFileSync(join(folder, 'tasks'), 'utf8').trim().split('\n')
  return { node, events, tasks: () => tasks().map((line) => JSON.parse(line) as object) }
}

test('an agent that was killed is started again with the places of all, also when its host is away for a moment', async () => {
  const { node, events, tasks } = driven(`${GIVES}; kill -9 $$`, ['away', 'exit 0'])
  expect(await node.ended).toBe(0)
  expect(tasks()).toEqual([{ node: 1 }, { node: 1, places: ['theirs', 'mine'] }])
  expect(events).toMatchObject([{ kind: 'warning', message: expect.stringContaining('agent of node 1 is gone') }])
})

test('an end of its own is the end, and so is one before the nodes knew of each other, or on a host that stays away', async () => {
  expect(await driven(`${GIVES}; exit 2`, ['exit 0']).node.ended).toBe(2)
  expect(await driven('kill -9 $$', ['exit 0']).node.ended).toBe(137)
  expect(await driven(`${GIVES}; exit 255`, [], 100).node.ended).toBe(255)
})

test('agents that die over and over are given up, and one that was stopped is not started again', async () => {
  const dies = `${GIVES}; kill -9 $$`
  expect(
    await driven(
      dies,
      Array.from({ length: 9 }, () => 'kill -9 $$'),
    ).node.ended,
  ).toBe(137)
  const { node, events } = driven(`${GIVES}; read -r END; kill -9 $$`, ['exit 0'])
  setTimeout(() => node.stop(), 100)
  expect(await node.ended).toBe(137)
  expect(events).toEqual([])
})
