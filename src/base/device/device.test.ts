/** @file Which device a configuration, a launcher and an environment come to, on hosts of every kind. */
import { expect, test } from 'vitest'
import { type DeviceKeys, requestedDevice } from './ask.ts'
import { chooseDevice } from './choose.ts'
import type { Adapter } from './device.ts'
import { deviceCount, findDevices, type HostFacts } from './find.ts'

const adapter = (name: string, type: Adapter['type'], id = `10de:${name}`): Adapter => ({
  name,
  type,
  id,
  driver: 'Vulkan 1.3',
  lacks: [],
})
const BARE: HostFacts = {
  platform: 'linux',
  nodes: [],
  vulkan: { kind: 'missing', missing: 'driver' },
  libraries: { folder: '/ort', cuda: [] },
}
const withAdapters = (...adapters: Adapter[]): HostFacts => ({ ...BARE, vulkan: { kind: 'found', adapters } })
const SOFTWARE = withAdapters(adapter('SwiftShader', 'software'))
const TWO = withAdapters(adapter('llvmpipe', 'software'), adapter('A', 'discrete'), adapter('B', 'discrete'))
const CUDA: HostFacts = {
  ...BARE,
  nodes: ['nvidia0', 'nvidia1'],
  libraries: { folder: '/ort', cuda: ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so'] },
}

const choose = (facts: HostFacts, keys: DeviceKeys, env: Record<string, string> = {}) => {
  const { device, notices, env: steering } = chooseDevice(requestedDevice(keys, env), findDevices(facts))
  return { on: device.provider, index: device.index, notices: notices.length, steering }
}
const here = { notices: 0, steering: {} }
const cpu = { on: 'cpu', index: 0, ...here }

test.each<[string, HostFacts, DeviceKeys, Record<string, string>, object]>([
  ['nothing asked for', TWO, {}, {}, cpu],
  ['use_gpu: True', TWO, { use_gpu: true }, {}, { on: 'webgpu', index: 0, ...here }],
  ['use_gpu: True without a device', BARE, { use_gpu: true }, {}, { ...cpu, notices: 1 }],
  ['use_gpu: True beside software', SOFTWARE, { use_gpu: true }, {}, { ...cpu, notices: 1 }],
  ['a variable', TWO, {}, { CUDA_VISIBLE_DEVICES: '0' }, { on: 'webgpu', index: 0, ...here }],
  ['a variable without a device', BARE, {}, { FLAGS_selected_gpus: '3' }, { ...cpu, notices: 1 }],
  ['a variable beside use_gpu: False', TWO, { use_gpu: false }, { CUDA_VISIBLE_DEVICES: '0' }, cpu],
  ['no visible device', TWO, { use_gpu: true }, { CUDA_VISIBLE_DEVICES: '-1' }, { ...cpu, notices: 1 }],
  ['an empty list of them', TWO, {}, { CUDA_VISIBLE_DEVICES: '' }, cpu],
  ['variables by custom of a launcher', TWO, {}, { FLAGS_selected_gpus: '0', OARFISH_DEVICE: '' }, cpu],
  [
    '--gpus above use_gpu: False',
    TWO,
    { use_gpu: false },
    { OARFISH_DEVICE: 'gpu' },
    { on: 'webgpu', index: 0, ...here },
  ],
  ['device: cpu above --gpus', TWO, { device: 'cpu' }, { OARFISH_DEVICE: 'gpu' }, cpu],
  ['device: webgpu on software', SOFTWARE, { device: 'webgpu' }, {}, { on: 'webgpu', index: 0, ...here }],
  [
    'CUDA where its libraries lie',
    CUDA,
    { use_gpu: true },
    { FLAGS_selected_gpus: '1' },
    { on: 'cuda', index: 1, ...here },
  ],
  [
    'the second of two models',
    TWO,
    { use_gpu: true },
    { FLAGS_selected_gpus: '1' },
    { on: 'webgpu', index: 1, notices: 0, steering: { VK_LOADER_DEVICE_SELECT: '0x10de:0xB' } },
  ],
  [
    'the second of those that are shown',
    TWO,
    { use_gpu: true },
    { CUDA_VISIBLE_DEVICES: '1,0', FLAGS_selected_gpus: '1' },
    { on: 'webgpu', index: 0, ...here },
  ],
  [
    'the second of one model, which WebGPU cannot be told to take',
    withAdapters(adapter('A', 'discrete', '1:1'), adapter('A', 'discrete', '1:1')),
    { use_gpu: true },
    { FLAGS_selected_gpus: '1' },
    { on: 'webgpu', index: 0, notices: 1, steering: {} },
  ],
])('%s', (_, facts, keys, env, expected) => {
  expect(choose(facts, keys, env)).toEqual(expected)
})

test.each<[string, HostFacts, DeviceKeys, Record<string, string>, string]>([
  ['DEVICE_MISSING', BARE, { device: 'webgpu' }, {}, 'device: webgpu: there is no such device here.'],
  ['DEVICE_MISSING', TWO, { device: 'cuda' }, {}, 'device: cuda: there is no such device here.'],
  [
    'DEVICE_INDEX',
    TWO,
    { use_gpu: true },
    { FLAGS_selected_gpus: '2' },
    'FLAGS_selected_gpus=2: there is no device 2; this host has 0 A, 1 B.',
  ],
  [
    'DEVICE_INDEX',
    TWO,
    { use_gpu: true },
    { CUDA_VISIBLE_DEVICES: '7' },
    'there is no device 0; this host has 0 A, 1 B, of which CUDA_VISIBLE_DEVICES shows 7.',
  ],
  [
    'DEVICE_LIMIT',
    withAdapters({ ...adapter('old', 'discrete'), lacks: ['shaderStorageBufferArrayDynamicIndexing'] }),
    { device: 'webgpu' },
    {},
    'old cannot run WebGPU: it lacks shaderStorageBufferArrayDynamicIndexing.',
  ],
])('%s: %#', (code, facts, keys, env, message) => {
  expect(() => choose(facts, keys, env)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})

test('a host without devices says what was looked for, with a way to get each', () => {
  const facts: HostFacts = { ...BARE, vulkan: { kind: 'missing', missing: 'loader' } }
  const { webgpu, cuda } = findDevices(facts)
  expect(webgpu.missing.map(({ what }) => what)).toEqual([
    'the Vulkan loader (libvulkan.so.1)',
    'a Vulkan driver with an adapter',
  ])
  expect(cuda.missing).toHaveLength(2)
  for (const { get } of [...webgpu.missing, ...cuda.missing]) expect(get).not.toBe('')
  const request = requestedDevice({ use_gpu: true }, {})
  expect(chooseDevice(request, { webgpu, cuda }).notices[0]).toMatch(
    /^use_gpu: True: no device was found, so the CPU computes\. Looked for the Vulkan loader .*`oarfish devices`/,
  )
})

test('a host has as many devices as of its best type; software is none', () => {
  const count = (facts: HostFacts) => deviceCount(findDevices(facts))
  expect([BARE, SOFTWARE, TWO, CUDA].map(count)).toEqual([0, 0, 2, 2])
  expect(count(withAdapters(adapter('i', 'integrated'), adapter('d', 'discrete')))).toBe(1)
  expect(count({ ...BARE, platform: 'darwin', vulkan: undefined })).toBe(1)
})
