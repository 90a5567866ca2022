/** @file The device of this process. Looks at the host only when one is asked for. */
import { type Env, processEnv } from '../env/index.ts'
import { type DeviceKeys, requestedDevice } from './ask.ts'
import { chooseDevice } from './choose.ts'
import { CPU, type Device } from './device.ts'
import { deviceCount, type FoundDevices, findDevices } from './find.ts'
import { lookAtHost } from './host.ts'

/** Call it in the main thread: drivers read their variables from the process, which threads cannot change. */
export function openDevice(keys: DeviceKeys, env: Env, onNotice: (message: string) => void): Device {
  const request = requestedDevice(keys, env)
  if (request.device === 'cpu') return CPU
  const choice = chooseDevice(request, hostDevices())
  for (const message of choice.notices) onNotice(message)
  Object.assign(processEnv(), choice.env)
  return choice.device.provider === 'webgpu' ? { ...choice.device, lock: LOCK } : choice.device
}

/** One for the process: all its sessions share a queue. */
const LOCK = new SharedArrayBuffer(4)

/** What a model is told: a device that must be there is taken to be; one that may be there is looked for. */
export function computesOn(keys: DeviceKeys, env: Env): 'cpu' | 'gpu' {
  const request = requestedDevice(keys, env)
  if (request.device !== 'gpu') return request.device === 'cpu' ? 'cpu' : 'gpu'
  return deviceCount(hostDevices()) > 0 && request.visible?.length !== 0 ? 'gpu' : 'cpu'
}

let found: FoundDevices | undefined

/** Asked for once: devices do not come and go while a process runs. */
export function hostDevices(): FoundDevices {
  found ??= findDevices(lookAtHost())
  return found
}
