/** @file Who is named when several processes end at once. */
import { expect, test } from 'vitest'
import type { Child } from './child.ts'
import { causeOf } from './supervise.ts'

/** A process that ends with `text` when it is told to. */
function process(text: string) {
  let end = () => {}
  const child: { exit?: Child['exit']; exited: Promise<NonNullable<Child['exit']>> } = {
    exited: new Promise((resolve) => {
      end = () => {
        child.exit = { code: 1, text }
        resolve(child.exit)
      }
    }),
  }
  return { child: child as Child, end }
}

test('a process that was killed is the cause, though one that lost it was seen to end before', async () => {
  const [worker, server, other] = [process('exit code 2'), process('signal SIGKILL'), process('exit code 2')]
  const all = [server.child, worker.child, other.child]
  worker.end()
  const cause = causeOf(worker.child, all)
  other.end()
  server.end()
  expect(await cause).toBe(server.child)
})

test('otherwise the first is', async () => {
  const [first, other] = [process('exit code 3'), process('exit code 2')]
  first.end()
  other.end()
  expect(await causeOf(first.child, [other.child, first.child])).toBe(first.child)
  expect(await causeOf(first.child, [first.child])).toBe(first.child)
})
