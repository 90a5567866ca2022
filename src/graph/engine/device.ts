/** @file Sessions on a device: one at a time, and its failures in words that say how to go on. */
import type { Device } from '../../base/device/index.ts'
import { UserError } from '../../base/util/index.ts'

/** Runs when no other session of this process uses the device: of this thread or of another, so that waiting must not block. */
export async function inTurn<T>({ lock }: Device, work: () => Promise<T>): Promise<T> {
  if (!lock) return await work()
  const held = new Int32Array(lock)
  while (Atomics.compareExchange(held, 0, 0, 1) !== 0) await released(held)
  try {
    return await work()
  } finally {
    Atomics.store(held, 0, 0)
    Atomics.notify(held, 0, 1)
  }
}

/** A wait for shared memory does not keep a thread alive; a timer does. */
function released(held: Int32Array): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, WAIT_MS)
    void Promise.resolve(waitAsync(held, 0, 1, WAIT_MS).value).then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const WAIT_MS = 1000

/** Of every Node that is supported; the types are of an older standard. */
const { waitAsync } = Atomics as typeof Atomics & {
  waitAsync(held: Int32Array, index: number, value: number, ms: number): { readonly value: string | Promise<string> }
}

interface Failure {
  readonly code: string
  readonly when: RegExp
  readonly message: (name: string) => string
  readonly hint: string
}

const GO_ON = 'Training goes on from the last checkpoint: oarfish train ... --resume'

const FAILURES: readonly Failure[] = [
  {
    code: 'DEVICE_MEMORY',
    when: /out of memory|OutOfMemory|failed to allocate|CUDA failure 2\b|allocat\w* .*(exceed|fail)/i,
    message: (name) => `The memory of ${name} is full.`,
    hint: `Make runner.train_batch_size smaller, or end what else uses the device. ${GO_ON}`,
  },
  {
    code: 'DEVICE_LIMIT',
    when: /maxStorageBufferBindingSize|maxBufferSize|maxStorageBuffersPerShaderStage|max\w+ limit|exceeds? the (max|limit)/i,
    message: (name) => `${name} cannot hold so large a tensor.`,
    hint: 'Make runner.train_batch_size smaller, or compute with runner.device: cpu. `oarfish devices` lists the limits.',
  },
  {
    code: 'DEVICE_MISSING',
    when: /Failed to get a WebGPU adapter|No supported adapters|Failed to load (shared )?library|providers_cuda|no CUDA-capable device/i,
    message: (name) => `${name} could not be opened.`,
    hint: '`oarfish devices` says what is missing and how to get it; use_gpu: True takes a device where there is one.',
  },
  {
    code: 'DEVICE_LOST',
    when: /device (is |was )?lost|DeviceLost|VK_ERROR_DEVICE_LOST|CUDA failure/i,
    message: (name) => `${name} was lost: its driver was reset, or it was taken away.`,
    hint: `${GO_ON}; with runner.device: cpu also without the device.`,
  },
]

/** What onnxruntime says of a device, as an error that a user can mend; anything else is as it was. */
export function deviceFailure({ name }: Device, error: Error): Error {
  const found = FAILURES.find(({ when }) => when.test(error.message))
  if (!found) return error
  const said = error.message.replaceAll(/\s+/g, ' ').slice(0, 300)
  return new UserError(`${found.message(name)} onnxruntime said: ${said}`, {
    code: found.code,
    hint: found.hint,
    cause: error,
  })
}
