import { expect, test } from 'vitest'
import { captureIo } from './capture.testing.ts'
import { Interrupted, untilInterrupted } from './interrupt.ts'

/** Work that ends one turn after it was asked to stop, and what was called in which order. */
function start() {
  const { io, exits, signal } = captureIo()
  const calls: string[] = []
  const hooks = { onStopping: () => calls.push('stopping'), onLeaving: () => calls.push('leaving') }
  const result = untilInterrupted(io, hooks, async (abort) => {
    await new Promise((resolve) => abort.addEventListener('abort', resolve))
    calls.push('step finished')
  })
  return { result, exits, signal, calls }
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s lets the step finish, then exits with %d', async (name, exitCode) => {
  const { result, exits, signal, calls } = start()
  signal(name)
  await expect(result).rejects.toMatchObject({ name: 'Interrupted', exitCode })
  expect(calls).toEqual(['stopping', 'step finished'])
  expect(exits).toEqual([])
})

test('a second Ctrl+C leaves at once', async () => {
  const { result, exits, signal, calls } = start()
  signal('SIGINT')
  signal('SIGINT')
  expect(exits).toEqual([130])
  expect(calls).toEqual(['stopping', 'leaving'])
  await expect(result).rejects.toBeInstanceOf(Interrupted)
})

test('work that is not interrupted resolves, and its own error passes through', async () => {
  const { io } = captureIo()
  const hooks = { onStopping: () => undefined, onLeaving: () => undefined }
  await expect(untilInterrupted(io, hooks, async () => 'done')).resolves.toBeUndefined()
  await expect(untilInterrupted(io, hooks, async () => Promise.reject(new Error('own')))).rejects.toThrow('own')
})

test('work that ends with the reason of the signal was stopped, and has nothing to say', async () => {
  const { io, signal } = captureIo()
  const hooks = { onStopping: () => undefined, onLeaving: () => undefined }
  const result = untilInterrupted(io, hooks, async (abort) => {
    await new Promise((resolve) => abort.addEventListener('abort', resolve))
    throw abort.reason
  })
  signal('SIGINT')
  await expect(result).rejects.toBeInstanceOf(Interrupted)
})
