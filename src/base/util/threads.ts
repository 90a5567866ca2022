/**
 * @file Threads of this process. Some may be made before they are wanted: these have loaded their code and wait for what they are to do, which
 * takes most of the time that a start of many processes takes.
 */
import {
  getEnvironmentData,
  parentPort,
  receiveMessageOnPort,
  setEnvironmentData,
  type Transferable,
  Worker,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads'

/** `transferList`: what of the settings goes over to the thread. */
export type ThreadOptions = Pick<WorkerOptions, 'execArgv' | 'name'> & { readonly transferList?: Transferable[] }

/** What a thread starts with: its settings, or what it waits for until they come. */
type Beginning = { readonly settings: unknown } | { readonly bell: SharedArrayBuffer; readonly rehearsal: unknown }

interface Sent {
  readonly settings: unknown
  /** Of shareWithThreads, as it is when the thread begins. */
  readonly shared: ReadonlyMap<string, unknown>
}

interface Waiting {
  readonly worker: Worker
  readonly bell: Int32Array<SharedArrayBuffer>
}

const waiting = new Map<string, Waiting[]>()
const sharedKeys = new Set<string>()

export interface MakeOptions extends Pick<ThreadOptions, 'execArgv'> {
  /** What these threads go through once while they wait, to be quick when it counts. @default nothing */
  readonly rehearsal?: unknown
}

/** Makes threads that startThread of the same file takes later. They do not keep the process alive. */
export function makeThreads(file: URL, count: number, { rehearsal, ...options }: MakeOptions = {}): void {
  const made = Array.from({ length: count }, (): Waiting => {
    const bell = new Int32Array(new SharedArrayBuffer(4))
    const workerData: Beginning = { bell: bell.buffer, rehearsal }
    const worker = new Worker(file, { ...options, workerData })
    // One that cannot be made is started when it is wanted, and says then what is wrong.
    const forget = () => waiting.set(file.href, waiting.get(file.href)?.filter((one) => one.worker !== worker) ?? [])
    worker.once('error', forget).once('exit', forget).unref()
    return { worker, bell }
  })
  waiting.set(file.href, [...(waiting.get(file.href) ?? []), ...made])
}

/** A thread that runs `file`, which reads these settings by threadSettings. */
export function startThread(file: URL, settings: unknown, { transferList, ...options }: ThreadOptions = {}): Worker {
  const taken = waiting.get(file.href)?.shift()
  if (!taken) {
    const beginning: Beginning = { settings }
    return new Worker(file, { ...options, workerData: beginning, ...(transferList && { transferList }) })
  }
  const { worker, bell } = taken
  const shared = new Map([...sharedKeys].map((key) => [key, getEnvironmentData(key)]))
  worker.removeAllListeners().ref()
  worker.postMessage({ settings, shared } satisfies Sent, transferList)
  Atomics.store(bell, 0, 1)
  Atomics.notify(bell, 0)
  return worker
}

/** In a thread that was made ahead, before it asks for its settings: what it is to go through once. */
export function threadRehearsal<Rehearsal>(): Rehearsal | undefined {
  const beginning = workerData as Beginning
  return 'rehearsal' in beginning ? (beginning.rehearsal as Rehearsal | undefined) : undefined
}

/** In a thread, once it has loaded its code: what it is to do. Waits for it where the thread was made ahead. */
export function threadSettings<Settings>(): Settings {
  const beginning = workerData as Beginning
  if ('settings' in beginning) return beginning.settings as Settings
  // A listener would have the port hand out messages that nobody listens for yet.
  Atomics.wait(new Int32Array(beginning.bell), 0, 0)
  const { settings, shared } = receiveMessageOnPort(parentPort!)!.message as Sent
  for (const [key, value] of shared) setEnvironmentData(key, value as never)
  return settings as Settings
}

/** Threads that are started from here on find this value by getEnvironmentData, and so do theirs. */
export function shareWithThreads(key: string, value: unknown): void {
  sharedKeys.add(key)
  setEnvironmentData(key, value as never)
}
