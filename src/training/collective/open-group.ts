/** @file Joins the group of a plan: starts the communication thread, and gives other threads handles. */
import { MessageChannel, type Worker } from 'node:worker_threads'
import { builtFile, fromPlainError, leaveNow, startThread, toPlainError } from '../../base/util/index.ts'
import { aloneBlocking, aloneGroup } from './alone.ts'
import { type CallAnswer, CommThreadCaller } from './comm-thread-caller.ts'
import { newControl, RUNG, STOPPING } from './control.ts'
import { DirectCaller } from './direct-caller.ts'
import type { BlockingGroup, Group, GroupHandle } from './group.ts'
import { watchRanks } from './mpi/rank-watch.ts'
import { blockingOperations, promisedOperations } from './operations.ts'
import type { GroupPlan } from './plan.ts'
import type { FromCommunication, NewCaller, ThreadData, ToCommunication } from './thread.ts'

/** Resolves when every rank is there. `notice` gets a line for what takes long; aborting `signal` gives up waiting for the others of a ring. */
export async function openGroup(
  plan: GroupPlan,
  notice: (message: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Group> {
  if (plan.kind === 'alone') return aloneGroup()
  const bell = new SharedArrayBuffer(8)
  const settings: ThreadData = { plan, bell }
  const worker = startThread(builtFile('training/collective/thread'), settings, { execArgv: [], name: 'communication' })
  const ready = await untilAborted(
    nextMessage(worker, 'ready', notice),
    plan.kind === 'ring' ? signal : undefined,
  ).catch(async (error) => {
    if (signal?.aborted) await worker.terminate()
    throw error
  })
  const { rank, size } = ready

  const words = new Int32Array(bell)
  const send = (message: ToCommunication, transfer: readonly NewCaller['port'][] = []) => {
    worker.postMessage(message, transfer)
    Atomics.add(words, RUNG, 1)
    Atomics.notify(words, RUNG)
  }
  const newHandle = (byMessage: boolean): GroupHandle => {
    const control = newControl(size)
    const { port1, port2 } = new MessageChannel()
    send({ kind: 'caller', control, port: port2, byMessage }, [port2])
    return { rank, size, control, bell, port: port1, wakeByMessage: !ready.blocks, direct: ready.direct }
  }
  const own = new CommThreadCaller(newHandle(true))
  const atExit = (code: number) => leaveNow(code, atExit)
  if (ready.blocks) process.on('exit', atExit)
  const through = answersOf(own)
  const operations = promisedOperations(own, through)
  const silenceMs = plan.kind === 'mpi' ? plan.silenceMs : undefined
  const watch = silenceMs && (await watchRanks({ group: { ...operations, rank, size }, silenceMs, notice }))
  const close = async (reason?: Error) => {
    if (reason) Atomics.store(words, STOPPING, 1)
    send({ kind: 'close', reason: reason && toPlainError(reason) })
    const late = reason && setTimeout(giveUp, CLOSE_MS, reason)
    await nextMessage(worker, 'closed', notice).finally(() => clearTimeout(late))
    process.off('exit', atExit)
    if (watch) await watch.close()
    own.port.close()
    await worker.terminate()
  }
  worker.unref()
  return {
    ...operations,
    kind: plan.kind,
    description: ready.description,
    handle: () => newHandle(false),
    close,
  }
}

/** Not for MPI: a thread inside the library's start cannot be ended, and mpirun ends its processes itself. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

const CLOSE_MS = 1000

/** The thread is inside a library's call that waits for other ranks: they notice nothing but the end of this process. */
function giveUp(reason: Error): void {
  process.stderr.write(`${reason.message}\n`)
  leaveNow(1)
}

/** The group for a thread that may wait. */
export function attachGroup(handle: GroupHandle): BlockingGroup {
  if (handle.size === 1) return aloneBlocking()
  return blockingOperations(handle.direct ? new DirectCaller(handle.direct, handle.bell) : new CommThreadCaller(handle))
}

type Message<K extends FromCommunication['kind']> = Extract<FromCommunication, { kind: K }>

/** The next message of a kind; the thread keeps the process alive until then. */
function nextMessage<K extends 'ready' | 'closed'>(
  worker: Worker,
  kind: K,
  notice: (message: string) => void,
): Promise<Message<K>> {
  worker.ref()
  return new Promise<Message<K>>((resolve, reject) => {
    const onMessage = (message: FromCommunication) => {
      if (message.kind === 'notice') notice(message.message)
      else if (message.kind === 'failed') settle(() => reject(fromPlainError(message.failure)))
      else if (message.kind === kind) settle(() => resolve(message as Message<K>))
    }
    const onError = (error: unknown) => settle(() => reject(error as Error))
    const settle = (end: () => void) => {
      worker.off('message', onMessage).off('error', onError)
      end()
    }
    worker.on('message', onMessage).on('error', onError)
  })
}

/** The process stays alive while a call is under way. */
function answersOf({ port }: CommThreadCaller): () => Promise<CallAnswer> {
  port.unref()
  return () =>
    new Promise((resolve) => {
      port.ref()
      port.once('message', (message: CallAnswer) => {
        port.unref()
        resolve(message)
      })
    })
}
