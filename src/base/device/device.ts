/** @file What computes: the words of configurations, and the plain data that says it to threads. */

/** What onnxruntime can compute with. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda'] as const
export type Provider = (typeof PROVIDERS)[number]

/** What `runner.device` takes: a provider, which must then be there, or `gpu`, for the best there is. */
export const DEVICE_NAMES = [...PROVIDERS, 'gpu'] as const
export type DeviceName = (typeof DEVICE_NAMES)[number]

/** What a process computes on. Crosses threads. */
export interface Device {
  readonly provider: Provider
  /** Among the devices of that provider. */
  readonly index: number
  /** As its driver calls it. */
  readonly name: string
  /** The largest buffer that a shader can be given. @default unknown */
  readonly maxBufferBytes?: number | undefined
  /** Memory of its own, or what it shares. @default unknown */
  readonly memoryBytes?: number | undefined
  /** Sessions of all threads share one queue of a WebGPU device: one runs at a time. */
  readonly lock?: SharedArrayBuffer | undefined
}

export const CPU: Device = { provider: 'cpu', index: 0, name: 'CPU' }

/** A device of a graphics driver. */
export interface Adapter {
  readonly name: string
  readonly type: AdapterType
  /** Vendor and model, by which one adapter is told from another: `10de:2684`. */
  readonly id: string
  readonly driver: string
  /** Memory of its own; of an adapter without such, what it shares. */
  readonly memoryBytes?: number | undefined
  /** The largest buffer that a shader can be given. */
  readonly maxStorageBufferBytes?: number | undefined
  /** Features that WebGPU needs and this adapter does not have. */
  readonly lacks: readonly string[]
}

/** In the order in which WebGPU prefers them. */
export const ADAPTER_TYPES = ['discrete', 'integrated', 'virtual', 'other', 'software'] as const
export type AdapterType = (typeof ADAPTER_TYPES)[number]
