/** @file Looks at this host: its files in /dev, its Vulkan, the libraries beside onnxruntime. */
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { HostFacts } from './find.ts'
import { lookAtVulkan } from './vulkan.ts'

export function lookAtHost(): HostFacts {
  const { platform, arch } = process
  const main = createRequire(import.meta.url).resolve('onnxruntime-node')
  const folder = join(dirname(main), '..', 'bin', 'napi-v6', platform, arch)
  return {
    platform,
    nodes: [...namesIn('/dev', /^(nvidia\d+|dxg)$/), ...namesIn('/dev/dri', /^renderD/).map((name) => `dri/${name}`)],
    vulkan: platform === 'darwin' || platform === 'win32' ? undefined : lookAtVulkan(),
    libraries: { folder, cuda: namesIn(folder, /providers_(shared|cuda)/) },
  }
}

function namesIn(folder: string, form: RegExp): string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => form.test(name))
        .sort()
    : []
}
