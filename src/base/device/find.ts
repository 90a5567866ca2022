/** @file Which devices a host has, judged from facts about it: what was looked for, what was found, what is missing and how to get it. Pure. */
import { ADAPTER_TYPES, type Adapter, type Provider } from './device.ts'
import type { VulkanFacts } from './vulkan.ts'

/** What can be seen of a host. */
export interface HostFacts {
  readonly platform: NodeJS.Platform
  /** Graphics devices among the files of /dev: nvidia0, dxg, dri/renderD128. */
  readonly nodes: readonly string[]
  /** Undefined where WebGPU does not go through Vulkan. */
  readonly vulkan: VulkanFacts | undefined
  /** Where onnxruntime's libraries lie, and those of CUDA's provider that lie there. */
  readonly libraries: { readonly folder: string; readonly cuda: readonly string[] }
}

export interface FoundProvider {
  readonly provider: Provider
  /** What it can compute on; none where something is missing. */
  readonly adapters: readonly Adapter[]
  readonly missing: readonly Missing[]
}

/** What was looked for in vain, and how to get it. */
export interface Missing {
  readonly what: string
  readonly get: string
}

export type FoundDevices = Readonly<Record<Exclude<Provider, 'cpu'>, FoundProvider>>

export const CUDA_LIBRARIES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'] as const

/** Software for an adapter is there to try things out. */
export const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json'
const SOFTWARE = `to try it out without a GPU: apt install chromium-common, then export VK_DRIVER_FILES=${SWIFTSHADER}`

export function findDevices(facts: HostFacts): FoundDevices {
  return { webgpu: findWebgpu(facts), cuda: findCuda(facts) }
}

/** Adapters that compute in hardware: what a configuration that only says "GPU" means. */
export function hardware({ adapters }: FoundProvider): readonly Adapter[] {
  return adapters.filter(({ type, lacks }) => type !== 'software' && lacks.length === 0)
}

/** How many devices processes of this host can be given: those of the best type, so that no rank waits for a slower one. */
export function deviceCount({ webgpu, cuda }: FoundDevices): number {
  const adapters = hardware(webgpu)
  return Math.max(adapters.filter(({ type }) => type === adapters[0]!.type).length, cuda.adapters.length)
}

function findWebgpu({ platform, vulkan, nodes }: HostFacts): FoundProvider {
  const provider = 'webgpu'
  if (!vulkan) return { provider, adapters: SYSTEM_ADAPTERS[platform] ?? [], missing: [] }
  if (vulkan.kind === 'found') {
    const rank = ({ type }: Adapter) => ADAPTER_TYPES.indexOf(type)
    // As WebGPU takes them when it is asked for speed.
    return { provider, adapters: [...vulkan.adapters].sort((a, b) => rank(a) - rank(b)), missing: [] }
  }
  const loader = { what: 'the Vulkan loader (libvulkan.so.1)', get: 'apt install libvulkan1 (rpm: vulkan-loader)' }
  return { provider, adapters: [], missing: [...(vulkan.missing === 'loader' ? [loader] : []), driverFor(nodes)] }
}

function driverFor(nodes: readonly string[]): Missing {
  const what = 'a Vulkan driver with an adapter'
  if (nodes.some((name) => name.startsWith('nvidia')))
    return {
      what,
      get: 'an NVIDIA card is there: install its driver with Vulkan (in a container: NVIDIA_DRIVER_CAPABILITIES=all)',
    }
  if (nodes.some((name) => name.startsWith('dri/')))
    return { what, get: 'a graphics device is there (/dev/dri): apt install mesa-vulkan-drivers' }
  return { what, get: `no graphics device is in /dev; ${SOFTWARE}` }
}

/** Where WebGPU goes through the system's own interface, which is always there and cannot be asked from here. */
const system = (name: string, driver: string): readonly Adapter[] => [
  { name, type: 'other', id: 'system', driver, lacks: [] },
]
const SYSTEM_ADAPTERS: { readonly [K in NodeJS.Platform]?: readonly Adapter[] } = {
  darwin: system("this Mac's GPU", 'Metal'),
  win32: system("Windows' first adapter", 'Direct3D 12'),
}

function findCuda({ platform, nodes, libraries }: HostFacts): FoundProvider {
  const provider = 'cuda'
  const cards = nodes.filter((name) => /^nvidia\d+$|^dxg$/.test(name))
  const lacking = CUDA_LIBRARIES.filter((name) => !libraries.cuda.includes(name))
  if (platform !== 'linux')
    return {
      provider,
      adapters: [],
      missing: [{ what: 'Linux', get: "CUDA's provider of onnxruntime-node is for Linux on x64" }],
    }
  const missing: Missing[] = [
    ...(cards.length > 0
      ? []
      : [
          {
            what: 'an NVIDIA card (/dev/nvidia0)',
            get: 'its driver makes that file; a container gets it by the NVIDIA runtime',
          },
        ]),
    ...(lacking.length === 0
      ? []
      : [
          {
            what: lacking.join(' and '),
            get: `install onnxruntime-node with its install script, or put them into ${libraries.folder}`,
          },
        ]),
  ]
  const adapters = cards.map(
    (name): Adapter => ({ name: `/dev/${name}`, type: 'discrete', id: name, driver: 'CUDA', lacks: [] }),
  )
  return { provider, adapters: lacking.length > 0 ? [] : adapters, missing }
}
