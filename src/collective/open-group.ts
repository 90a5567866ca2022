/** @file Joins the group of a plan: starts the communication thread, and hands out seats. */
import { MessageChannel, Worker } from 'node:worker_threads'
import { fromPlainError, toPlainError } from '../util/index.ts'
import { aloneGroup, aloneSeat } from './alone.ts'
import { newControl, RUNG, STOPPING } from './control.ts'
import { DirectSeat } from './direct-seat.ts'
import type { BlockingGroup, Group, SeatHandle } from './group.ts'
import { leaveNow } from './koffi.ts'
import { blockingOperations, promisedOperations } from './operations.ts'
import type { GroupPlan } from './plan.ts'
import { type FromThread, Seat } from './seat.ts'
import type { FromCommunication, NewSeat, ThreadData, ToCommunication } from './thread.ts'

/** Resolves when every rank is there. `notice` is told what takes long; aborting `signal` gives up waiting for the others of a ring. */
export async function openGroup(
  plan: GroupPlan,
  notice: (message: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Group> {
  if (plan.kind === 'alone') return aloneGroup()
  const bell = new SharedArrayBuffer(8)
  const workerData: ThreadData = { plan, bell }
  // dist/ lies two folders up from both src/collective and dist/collective.
  const entry = new URL('../../dist/collective/thread.js', import.meta.url)
  const worker = new Worker(entry, { workerData, execArgv: [], name: 'communication' })
  const ready = await untilAborted(news(worker, 'ready', notice), plan.kind === 'ring' ? signal : undefined).catch(
    async (error) => {
      if (signal?.aborted) await worker.terminate()
      throw error
    },
  )
  const { rank, size } = ready

  const words = new Int32Array(bell)
  const ring = (message: ToCommunication, transfer: readonly NewSeat['port'][] = []) => {
    worker.postMessage(message, transfer)
    Atomics.add(words, RUNG, 1)
    Atomics.notify(words, RUNG)
  }
  const seat = (byMessage: boolean): SeatHandle => {
    const control = newControl(size)
    const { port1, port2 } = new MessageChannel()
    ring({ kind: 'seat', control, port: port2, byMessage }, [port2])
    const handle = { rank, size, control, bell, port: port1, wakeByMessage: !ready.blocks }
    return ready.direct ? { ...handle, direct: ready.direct } : handle
  }
  const own = new Seat(seat(true))
  const atExit = (code: number) => leaveNow(code, atExit)
  if (ready.blocks) process.on('exit', atExit)
  const close = async (reason?: Error) => {
    if (reason) Atomics.store(words, STOPPING, 1)
    ring({ kind: 'close', ...(reason && { reason: toPlainError(reason) }) })
    const late = reason && setTimeout(giveUp, CLOSE_MS, reason)
    await news(worker, 'closed', notice).finally(() => clearTimeout(late))
    process.off('exit', atExit)
    own.port.close()
    await worker.terminate()
  }
  const through = answersOf(own)
  worker.unref()
  return {
    ...promisedOperations(own, through),
    kind: plan.kind,
    description: ready.description,
    seat: () => seat(false),
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

/** The thread is inside a library's call that waits for others: only the end of this process tells them. */
function giveUp(reason: Error): void {
  process.stderr.write(`${reason.message}\n`)
  leaveNow(1)
}

/** The group for a thread that may wait. */
export function openSeat(handle: SeatHandle): BlockingGroup {
  if (handle.size === 1) return aloneSeat()
  return blockingOperations(handle.direct ? new DirectSeat(handle.direct, handle.bell) : new Seat(handle))
}

type News<K extends FromCommunication['kind']> = Extract<FromCommunication, { kind: K }>

/** The next message of a kind; the thread keeps the process alive until then. */
function news<K extends 'ready' | 'closed'>(
  worker: Worker,
  kind: K,
  notice: (message: string) => void,
): Promise<News<K>> {
  worker.ref()
  return new Promise<News<K>>((resolve, reject) => {
    const onMessage = (message: FromCommunication) => {
      if (message.kind === 'notice') notice(message.message)
      else if (message.kind === 'failed') settle(() => reject(fromPlainError(message.failure)))
      else if (message.kind === kind) settle(() => resolve(message as News<K>))
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
function answersOf({ port }: Seat): () => Promise<FromThread> {
  port.unref()
  return () =>
    new Promise((resolve) => {
      port.ref()
      port.once('message', (message: FromThread) => {
        port.unref()
        resolve(message)
      })
    })
}
