/** @file Sessions of several threads on one device, and what is said when it fails. */
import { expect, test } from 'vitest'
import { CPU } from '../../base/device/index.ts'
import { deviceFailure, inTurn } from './device.ts'

const DEVICE = { provider: 'webgpu', index: 0, name: 'A card', lock: new SharedArrayBuffer(4) } as const

test.each([
  ['DEVICE_LOST', 'WebGPU device lost: Device was destroyed', /^A card was lost/],
  ['DEVICE_LOST', 'vkQueueSubmit failed with VK_ERROR_DEVICE_LOST', /--resume/],
  [
    'DEVICE_MEMORY',
    'Failed to allocate memory for requested buffer of size 8589934592',
    /^The memory of A card is full/,
  ],
  ['DEVICE_LIMIT', 'Binding size (2147483648) is larger than maxStorageBufferBindingSize', /^A card cannot hold/],
  ['DEVICE_MISSING', 'Failed to get a WebGPU adapter: No supported adapters', /^A card could not be opened/],
])('%s is told with how to go on: %s', (code, said, text) => {
  const error = deviceFailure(DEVICE, new Error(said))
  expect(error).toMatchObject({ name: 'UserError', code })
  expect(`${error.message} ${(error as { hint?: string }).hint}`).toMatch(text)
  expect(error.message).toContain(said)
})

test('what is no failure of a device stays as it is', () => {
  const error = new Error('Non-zero status code returned while running Gather node')
  expect(deviceFailure(DEVICE, error)).toBe(error)
})

test('one session at a time, also of one thread, and after one that failed', async () => {
  let running = 0
  const order: number[] = []
  const work = (i: number) => async () => {
    expect(running++).toBe(0)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    order.push(i)
    if (i === 1) throw new Error('this one fails')
  }
  const results = await Promise.allSettled([0, 1, 2, 3].map((i) => inTurn(DEVICE, work(i))))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(order.sort()).toEqual([0, 1, 2, 3])
  expect(await inTurn(CPU, async () => 'without a lock')).toBe('without a lock')
})
