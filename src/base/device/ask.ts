/** @file Which device is asked for: by keys of the configuration, by a launcher's flags, by variables of the environment. Pure. */
import { type Env, splitList } from '../env/index.ts'
import type { DeviceName } from './device.ts'

/** What somebody wants to compute on. */
export interface DeviceRequest {
  readonly device: DeviceName
  /** Which key, flag or variable says so. */
  readonly by: string
  /** Among the devices that this process sees. */
  readonly index: number
  /** Which variable says that. */
  readonly indexBy?: string | undefined
  /** Numbers of the devices that this process may see. @default all */
  readonly visible?: readonly number[] | undefined
}

export interface DeviceKeys {
  readonly device?: DeviceName | undefined
  /** Undefined where the configuration does not say it. */
  readonly use_gpu?: boolean | undefined
}

/** Set by launchers for their processes: `gpu` after --gpus and the like, empty where the variables below stand by custom alone. */
export const DEVICE_VARIABLE = 'OARFISH_DEVICE'
const SELECTED = 'FLAGS_selected_gpus'
const VISIBLE = 'CUDA_VISIBLE_DEVICES'

/** A key `device` stands above all, then a launcher's flag, then `use_gpu`; variables decide where the configuration says nothing. */
export function requestedDevice({ device, use_gpu }: DeviceKeys, env: Env): DeviceRequest {
  const place = placeOf(env)
  if (device) return { device, by: `device: ${device}`, ...place }
  const launched = env[DEVICE_VARIABLE]
  if (launched)
    return { device: launched as DeviceName, by: place.indexBy ?? `${DEVICE_VARIABLE}=${launched}`, ...place }
  if (use_gpu) return { device: 'gpu', by: 'use_gpu: True', ...place }
  const named =
    launched === undefined ? [SELECTED, VISIBLE].find((name) => /^\d|^(GPU|MIG)-/.test(env[name] ?? '')) : undefined
  return named && use_gpu === undefined
    ? { device: 'gpu', by: `${named}=${env[named]}`, ...place }
    : { device: 'cpu', by: 'use_gpu: False', index: 0 }
}

function placeOf(env: Env): Pick<DeviceRequest, 'index' | 'indexBy' | 'visible'> {
  const selected = splitList(env[SELECTED] ?? '')[0]
  const shown = env[VISIBLE]
  // Those of names (GPU-...) are counted, and taken in the order of the machine.
  const visible =
    shown === undefined ? undefined : splitList(shown).map((id, i) => (/^-?\d+$/.test(id) ? Number(id) : i))
  return {
    index: selected !== undefined && /^\d+$/.test(selected) ? Number(selected) : 0,
    indexBy: selected === undefined ? undefined : `${SELECTED}=${env[SELECTED]}`,
    // As CUDA reads it: a number that is none ends the list.
    visible: visible?.slice(0, visible.includes(-1) ? visible.indexOf(-1) : undefined),
  }
}
