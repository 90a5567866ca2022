/** @file The communication thread: the only one that talks to other processes. It serves the seats, one call at a time. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { fromPlainError, type PlainError, toPlainError } from '../util/index.ts'
import { type Backend, makeCall } from './backend.ts'
import { RUNG, readCall, type Span, STATE, STOPPING, wordsOf } from './control.ts'
import type { Numbers } from './group.ts'
import { type TypeName, viewOf } from './numbers.ts'
import { openBackend } from './open-backend.ts'
import type { GroupPlan } from './plan.ts'
import type { FromThread, ToThread } from './seat.ts'

export interface ThreadData {
  readonly plan: GroupPlan
  readonly bell: SharedArrayBuffer
}

/** A new seat; `byMessage`: it is told of the end of calls by message, since it does not wait. */
export interface NewSeat {
  readonly kind: 'seat'
  readonly control: SharedArrayBuffer
  readonly port: MessagePort
  readonly byMessage: boolean
}
export type ToCommunication = NewSeat | { readonly kind: 'close'; readonly reason?: PlainError }

export type FromCommunication =
  | { readonly kind: 'notice'; readonly message: string }
  | ({ readonly kind: 'ready' } & Pick<Backend, 'rank' | 'size' | 'description' | 'blocks' | 'direct'>)
  | { readonly kind: 'failed'; readonly failure: PlainError }
  | { readonly kind: 'closed' }

interface ServedSeat extends NewSeat {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly memories: Map<number, SharedArrayBuffer>
}

const IDLE_MS = 250
const SPINS = 20_000 // some 50 microseconds

const { plan, bell } = workerData as ThreadData
const port = parentPort!
const tell = (message: FromCommunication) => port.postMessage(message)

try {
  const backend = await openBackend(plan, {
    notice: (message) => tell({ kind: 'notice', message }),
    isStopping: () => Atomics.load(new Int32Array(bell), STOPPING) === 1,
  })
  const { rank, size, description, blocks, direct } = backend
  tell({ kind: 'ready', rank, size, description, blocks, ...(direct && { direct }) })
  await (blocks ? serveAsleep(backend, new Int32Array(bell)) : serveAwake(backend))
  tell({ kind: 'closed' })
} catch (error) {
  tell({ kind: 'failed', failure: toPlainError(error) })
}
port.close()

/** For backends that block: no event loop, the bell wakes the thread. */
async function serveAsleep(backend: Backend, bell: Int32Array<SharedArrayBuffer>): Promise<void> {
  const seats: ServedSeat[] = []
  for (;;) {
    const rung = Atomics.load(bell, RUNG)
    for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) {
      const message = got.message as ToCommunication
      if (message.kind === 'close') {
        await close(backend, seats, message.reason)
        return
      }
      seats.push(served(message))
    }
    for (const seat of seats) {
      if (Atomics.load(seat.words, 0) !== STATE.asked) continue
      for (let got = receiveMessageOnPort(seat.port); got; got = receiveMessageOnPort(seat.port))
        remember(seat, got.message as ToThread)
      answer(
        seat,
        attempt(() => void perform(backend, seat)),
      )
    }
    if (!rings(bell, rung)) Atomics.wait(bell, RUNG, rung, IDLE_MS)
    backend.idle?.()
  }
}

/** Looks for a moment before it sleeps: calls come in groups, and waking an idle processor takes longer than a call. */
function rings(bell: Int32Array<SharedArrayBuffer>, rung: number): boolean {
  for (let i = 0; i < SPINS; i++) if (Atomics.load(bell, RUNG) !== rung) return true
  return false
}

/** For backends that listen to sockets: everything comes as a message. */
async function serveAwake(backend: Backend): Promise<void> {
  const seats: ServedSeat[] = []
  let last: Promise<void> = Promise.resolve()
  const reason = await new Promise<PlainError | undefined>((resolve) => {
    port.on('message', (message: ToCommunication) => {
      if (message.kind === 'close') {
        resolve(message.reason)
        return
      }
      const seat = served(message)
      seats.push(seat)
      seat.port.on('message', (message: ToThread) => {
        if (message !== 'asked') remember(seat, message)
        else
          last = last.then(async () =>
            answer(
              seat,
              await Promise.resolve()
                .then(() => perform(backend, seat))
                .then(succeeded, failed),
            ),
          )
      })
    })
  })
  // A call that waits for a rank that is gone must not hold up the news.
  if (!reason) await last
  await close(backend, seats, reason)
}

function served(seat: NewSeat): ServedSeat {
  return { ...seat, words: wordsOf(seat.control), memories: new Map() }
}

function remember({ memories }: ServedSeat, message: ToThread): void {
  if (message !== 'asked') memories.set(message.id, message.memory)
}

/** Makes the call that the seat asks for. */
function perform(backend: Backend, { control, memories }: ServedSeat): void | Promise<void> {
  const call = readCall(control, backend.size)
  const view = (span: Span) => numbers(memories, call.type, span)
  return makeCall(backend, call, view(call.values), view(call.target))
}

function numbers(memories: ReadonlyMap<number, SharedArrayBuffer>, type: TypeName, span: Span): Numbers {
  const memory = memories.get(span.memory)
  if (!memory) throw new Error(`internal: memory ${span.memory} was never told of`)
  return viewOf(type, memory, span.offset, span.length)
}

function attempt(work: () => void): FromThread {
  try {
    work()
    return 'done'
  } catch (error) {
    return failed(error)
  }
}

function succeeded(): FromThread {
  return 'done'
}

function failed(error: unknown): FromThread {
  return { failure: toPlainError(error) }
}

function answer({ words, port, byMessage }: ServedSeat, message: FromThread): void {
  // Who waits looks for the message when it sees the state; who gets the message goes on at once.
  if (!byMessage && message !== 'done') port.postMessage(message)
  Atomics.store(words, 0, message === 'done' ? STATE.done : STATE.failed)
  Atomics.notify(words, 0)
  if (byMessage) port.postMessage(message)
}

async function close(backend: Backend, seats: readonly ServedSeat[], reason: PlainError | undefined): Promise<void> {
  await backend.close(reason && fromPlainError(reason))
  for (const { words, port } of seats) {
    Atomics.store(words, 0, STATE.left)
    Atomics.notify(words, 0)
    port.close()
  }
}
