/** @file The software adapter that tests of WebGPU run on. Import it before anything computes: a driver reads its variables once. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Device, openDevice, SWIFTSHADER } from '../../src/base/device/index.ts'

const tools = spawnSync(process.execPath, [fileURLToPath(new URL('../../scripts/webgpu-tools.mjs', import.meta.url))])

/** What is missing here; undefined: everything is there. */
export const lacking = tools.status === 0 ? undefined : tools.stderr.toString().trim()
if (lacking) console.warn(`skipped: ${lacking}`)
else process.env['VK_DRIVER_FILES'] = SWIFTSHADER

/** Variables for processes of their own. */
export const ADAPTER_ENV = { VK_DRIVER_FILES: SWIFTSHADER }

export function softwareAdapter(): Device {
  return openDevice({ device: 'webgpu' }, {}, (message) => {
    throw new Error(message)
  })
}
