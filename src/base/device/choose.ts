/** @file The device that a request and the host's devices come to: one of them, the CPU with a notice, or an error that says what is missing. Pure. */
import { UserError } from '../util/index.ts'
import type { DeviceRequest } from './ask.ts'
import { type Adapter, CPU, type Device, type Provider } from './device.ts'
import { type FoundDevices, type FoundProvider, hardware } from './find.ts'

export interface Choice {
  readonly device: Device
  /** What a user should know about it. */
  readonly notices: readonly string[]
  /** Variables that must stand before the driver is first used, so that it takes this device. */
  readonly env: Readonly<Record<string, string>>
}

export function chooseDevice(request: DeviceRequest, found: FoundDevices): Choice {
  if (request.device === 'cpu') return onCpu([])
  if (request.device === 'gpu') return chooseBest(request, found)
  const own = found[request.device]
  if (own.adapters.length === 0) throw missingProvider(request, own)
  return take(request, request.device, own.adapters)
}

const onCpu = (notices: readonly string[]): Choice => ({ device: CPU, notices, env: {} })

/** CUDA's libraries are there only where somebody put them; software that stands in for a GPU is never what is meant. */
function chooseBest(request: DeviceRequest, { cuda, webgpu }: FoundDevices): Choice {
  const hidden = request.visible?.length === 0 ? ' that CUDA_VISIBLE_DEVICES shows' : ''
  if (hidden === '' && cuda.adapters.length > 0) return take(request, 'cuda', cuda.adapters)
  if (hidden === '' && hardware(webgpu).length > 0) return take(request, 'webgpu', hardware(webgpu))
  return onCpu([`${request.by}: no device${hidden} was found, so the CPU computes. ${lookedFor({ cuda, webgpu })}`])
}

/** For who has not asked it yet. */
export const ASK_DEVICES = '`oarfish devices` tells how to get them.'

/** What was looked for in vain, in a sentence. */
export function lookedFor({ cuda, webgpu }: FoundDevices): string {
  const unfit = webgpu.adapters.map(({ name, type, lacks }) =>
    type === 'software'
      ? `${name} is software, which only runner.device: webgpu takes`
      : `${name} lacks ${lacks.join(', ')}`,
  )
  const parts = [...webgpu.missing, ...cuda.missing].map(({ what }) => what)
  return `Looked for ${[...parts, ...unfit].join('; ')}. ${ASK_DEVICES}`
}

function take(request: DeviceRequest, provider: Exclude<Provider, 'cpu'>, adapters: readonly Adapter[]): Choice {
  const { index, visible } = request
  const number = visible ? visible[index] : index
  const adapter = number === undefined ? undefined : adapters[number]
  if (number === undefined || !adapter) throw outOfRange(request, adapters)
  if (adapter.lacks.length > 0) throw unfit(adapter)
  const steered = provider === 'webgpu' ? steer(adapters, number) : { env: {}, notices: [] }
  const taken = steered.notices.length > 0 ? 0 : number
  const { name, maxStorageBufferBytes: maxBufferBytes, memoryBytes } = adapters[taken]!
  return { device: { provider, index: taken, name, maxBufferBytes, memoryBytes }, ...steered }
}

/**
 * WebGPU takes the first adapter of the best type, and cannot be told another. The Vulkan loader can be told to list a model first, which
 * tells apart adapters of one type that are not the same model.
 */
function steer(adapters: readonly Adapter[], index: number): Pick<Choice, 'env' | 'notices'> {
  if (index === 0) return { env: {}, notices: [] }
  const [first, own] = [adapters[0]!, adapters[index]!]
  const alike = adapters.filter(({ id }) => id === own.id).length
  if (own.type === first.type && alike === 1) {
    const [vendor, model] = own.id.split(':')
    return { env: { VK_LOADER_DEVICE_SELECT: `0x${vendor}:0x${model}` }, notices: [] }
  }
  const notice = `device ${index} (${own.name}): WebGPU cannot be told to take it rather than device 0 (${first.name}), on which this process computes. Show each process its own device alone (a container with one, NVIDIA_VISIBLE_DEVICES), or use runner.device: cuda.`
  return { env: {}, notices: [notice] }
}

function missingProvider({ by }: DeviceRequest, { missing }: FoundProvider): UserError {
  return new UserError(`${by}: there is no such device here.`, {
    code: 'DEVICE_MISSING',
    hint: [
      ...missing.map(({ what, get }) => `missing: ${what}: ${get}`),
      'use_gpu: True takes a device where there is one, else the CPU.',
    ].join('\n'),
  })
}

function outOfRange({ by, index, indexBy, visible }: DeviceRequest, adapters: readonly Adapter[]): UserError {
  const shown = visible ? `, of which CUDA_VISIBLE_DEVICES shows ${visible.join(',') || 'none'}` : ''
  const list = adapters.map(({ name }, i) => `${i} ${name}`).join(', ')
  return new UserError(`${indexBy ?? by}: there is no device ${index}; this host has ${list}${shown}.`, {
    code: 'DEVICE_INDEX',
    hint: `Devices count from 0: name one below ${visible ? Math.min(visible.length, adapters.length) : adapters.length}.`,
  })
}

function unfit({ name, lacks }: Adapter): UserError {
  return new UserError(`${name} cannot run WebGPU: it lacks ${lacks.join(', ')}.`, {
    code: 'DEVICE_LIMIT',
    hint: 'Install a newer driver, or another one (oarfish devices), or leave out runner.device.',
  })
}
