/** @file The adapters that the system's Vulkan knows, asked through its own library. Offsets are those of vulkan_core.h, which never change. */
import { loadKoffi } from '../util/index.ts'
import type { Adapter, AdapterType } from './device.ts'

/** `loader`: the library is not there; `driver`: it is, and knows no driver that it could load. */
export type VulkanFacts =
  | { readonly kind: 'found'; readonly adapters: readonly Adapter[] }
  | { readonly kind: 'missing'; readonly missing: 'loader' | 'driver' }

const LOADER = process.platform === 'win32' ? 'vulkan-1.dll' : 'libvulkan.so.1'

export function lookAtVulkan(): VulkanFacts {
  const api = loadVulkan()
  if (!api) return { kind: 'missing', missing: 'loader' }
  // VkInstanceCreateInfo: its structure type, and nothing asked for.
  const info = Buffer.alloc(64)
  info.writeInt32LE(1, 0)
  const instance: unknown[] = [null]
  if (api.createInstance(info, null, instance) !== 0) return { kind: 'missing', missing: 'driver' }
  try {
    const adapters = physicalDevices(api, instance[0]).map((handle) => adapterOf(api, handle))
    return adapters.length > 0 ? { kind: 'found', adapters } : { kind: 'missing', missing: 'driver' }
  } finally {
    api.destroyInstance(instance[0], null)
  }
}

type Vulkan = NonNullable<ReturnType<typeof loadVulkan>>

function loadVulkan() {
  try {
    const library = loadKoffi().load(LOADER)
    return {
      createInstance: library.func('int vkCreateInstance(void* info, void* allocator, _Out_ void** instance)'),
      destroyInstance: library.func('void vkDestroyInstance(void* instance, void* allocator)'),
      enumerate: library.func('int vkEnumeratePhysicalDevices(void* instance, _Inout_ uint32_t* count, void* out)'),
      properties: library.func('void vkGetPhysicalDeviceProperties(void* device, void* out)'),
      features: library.func('void vkGetPhysicalDeviceFeatures(void* device, void* out)'),
      memory: library.func('void vkGetPhysicalDeviceMemoryProperties(void* device, void* out)'),
    }
  } catch {
    return undefined
  }
}

function physicalDevices({ enumerate }: Vulkan, instance: unknown): bigint[] {
  const count = [0]
  if (enumerate(instance, count, null) !== 0) return []
  const handles = Buffer.alloc(8 * count[0]!)
  enumerate(instance, count, handles)
  return Array.from({ length: count[0]! }, (_, i) => handles.readBigUInt64LE(8 * i))
}

const TYPES: readonly AdapterType[] = ['other', 'integrated', 'discrete', 'virtual', 'software']

function adapterOf(api: Vulkan, handle: bigint): Adapter {
  const properties = Buffer.alloc(1024)
  api.properties(handle, properties)
  const version = properties.readUInt32LE(0)
  const hex = (at: number) => properties.readUInt32LE(at).toString(16).padStart(4, '0')
  const name = properties.subarray(20, 276).toString('utf8')
  return {
    name: name.slice(0, name.indexOf('\0')),
    type: TYPES[properties.readUInt32LE(16)] ?? 'other',
    id: `${hex(8)}:${hex(12)}`,
    driver: `Vulkan ${version >>> 22}.${(version >>> 12) & 0x3ff}`,
    memoryBytes: memoryOf(api, handle),
    maxStorageBufferBytes: properties.readUInt32LE(324),
    lacks: lackingFeatures(api, handle),
  }
}

/** Places among the 55 flags of VkPhysicalDeviceFeatures. */
const NEEDED_FEATURES = {
  33: 'shaderUniformBufferArrayDynamicIndexing',
  34: 'shaderSampledImageArrayDynamicIndexing',
  35: 'shaderStorageBufferArrayDynamicIndexing',
  36: 'shaderStorageImageArrayDynamicIndexing',
}

function lackingFeatures(api: Vulkan, handle: bigint): readonly string[] {
  const features = Buffer.alloc(4 * 55)
  api.features(handle, features)
  return Object.entries(NEEDED_FEATURES).flatMap(([at, name]) =>
    features.readUInt32LE(4 * Number(at)) === 0 ? [name] : [],
  )
}

/** VkPhysicalDeviceMemoryProperties: 32 types of 8 bytes, then heaps of 16: a size, and flags of which 1 means "on the device". */
function memoryOf(api: Vulkan, handle: bigint): number {
  const memory = Buffer.alloc(520)
  api.memory(handle, memory)
  const heaps = Array.from({ length: memory.readUInt32LE(260) }, (_, i) => ({
    bytes: Number(memory.readBigUInt64LE(264 + 16 * i)),
    own: (memory.readUInt32LE(272 + 16 * i) & 1) === 1,
  }))
  return heaps.filter(({ own }) => own).reduce((sum, { bytes }) => sum + bytes, 0)
}
