/** @file `oarfish devices`: what this host can compute on, what is missing, and how to get it. */
import { Command } from 'commander'
import type { Adapter, FoundDevices } from '../base/device/index.ts'
import type { CliIo } from './io.ts'

export function devicesCommand(io: CliIo): Command {
  return new Command('devices')
    .description('List what this host can compute on, with its limits; say what is missing and how to get it.')
    .option('--json', 'print one JSON object')
    .action(({ json = false }: { readonly json?: boolean }) => runDevices(json, io))
}

async function runDevices(json: boolean, io: CliIo): Promise<void> {
  const { ASK_DEVICES, chooseDevice, hostDevices, requestedDevice } = await import('../base/device/index.ts')
  const found = hostDevices()
  // Where CUDA_VISIBLE_DEVICES is set, of what it shows.
  const chosen = attempt(() =>
    chooseDevice({ ...requestedDevice({ use_gpu: true }, io.env), by: 'use_gpu: True' }, found),
  )
  const auto = { ...chosen, notices: chosen.notices.map((notice) => notice.replace(` ${ASK_DEVICES}`, '')) }
  if (json) io.out.write(`${JSON.stringify({ ...found, auto: auto.device?.provider, notices: auto.notices })}\n`)
  else io.out.write(devicesText(found, auto))
}

type Auto = {
  readonly device?: { readonly provider: string; readonly name: string }
  readonly notices: readonly string[]
}

/** An index that no device has is told here too, as a line. */
function attempt(choose: () => Auto): Auto {
  try {
    return choose()
  } catch (error) {
    return { notices: [(error as Error).message] }
  }
}

function devicesText(found: FoundDevices, auto: Auto): string {
  const providers = Object.values(found).flatMap(({ provider, adapters, missing }) => [
    adapters.length > 0 ? provider : `${provider}: no device`,
    ...adapters.flatMap(adapterLines),
    ...missing.map(({ what, get }) => `  missing: ${what}\n    ${get}`),
  ])
  const chosen = auto.device
    ? `${auto.device.provider}${auto.device.provider === 'cpu' ? '' : ` (${auto.device.name})`}`
    : 'an error'
  const end = [`use_gpu: True computes on: ${chosen}`, ...auto.notices.map((notice) => `  ${notice}`)]
  return `${['cpu: always there', ...providers, ...end].join('\n')}\n`
}

function adapterLines(
  { name, type, driver, memoryBytes, maxStorageBufferBytes, lacks }: Adapter,
  index: number,
): string[] {
  const limits = [
    ...(memoryBytes ? [`memory ${mebibytes(memoryBytes)}`] : []),
    ...(maxStorageBufferBytes ? [`largest buffer ${mebibytes(maxStorageBufferBytes)}`] : []),
  ]
  return [
    `  ${index} ${name} (${type}, ${driver})`,
    ...(limits.length > 0 ? [`    ${limits.join(', ')}`] : []),
    ...(lacks.length > 0 ? [`    cannot run WebGPU: it lacks ${lacks.join(', ')}`] : []),
  ]
}

const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`
