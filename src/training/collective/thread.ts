/** @file The communication thread: opens the backend, and makes the calls that other threads hand over, one at a time. */
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { fromPlainError, type PlainError, threadSettings, toPlainError } from '../../base/util/index.ts'
import { type Backend, type BackendHooks, makeCall } from './backend.ts'
import type { CallAnswer, CallerMessage } from './comm-thread-caller.ts'
import { RUNG, readCall, type Span, STATE, STOPPING, wordsOf } from './control.ts'
import type { Numbers } from './group.ts'
import { openMpi } from './mpi/open-mpi.ts'
import { type TypeName, viewOf } from './numbers.ts'
import type { GroupPlan } from './plan.ts'
import { openRing } from './ring/open-ring.ts'

export interface ThreadData {
  readonly plan: GroupPlan
  readonly bell: SharedArrayBuffer
}

/** A thread that will make calls; `byMessage`: it does not block, and learns of the end of a call by message. */
export interface NewCaller {
  readonly kind: 'caller'
  readonly control: SharedArrayBuffer
  readonly port: MessagePort
  readonly byMessage: boolean
}
export type ToCommunication = NewCaller | { readonly kind: 'close'; readonly reason: PlainError | undefined }

export type FromCommunication =
  | { readonly kind: 'notice'; readonly message: string }
  | ({ readonly kind: 'ready' } & Pick<Backend, 'rank' | 'size' | 'description' | 'blocks' | 'direct'>)
  | { readonly kind: 'failed'; readonly failure: PlainError }
  | { readonly kind: 'closed' }

interface ServedCaller extends NewCaller {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly memories: Map<number, SharedArrayBuffer>
}

const IDLE_MS = 250
const SPINS = 20_000 // some 50 microseconds

const { plan, bell } = threadSettings<ThreadData>()
const port = parentPort!
const post = (message: FromCommunication) => port.postMessage(message)

try {
  const backend = await openBackend(plan, {
    notice: (message) => post({ kind: 'notice', message }),
    isStopping: () => Atomics.load(new Int32Array(bell), STOPPING) === 1,
  })
  const { rank, size, description, blocks, direct } = backend
  post({ kind: 'ready', rank, size, description, blocks, direct })
  await (blocks ? serveBlocking(backend, new Int32Array(bell)) : serveByMessage(backend))
  post({ kind: 'closed' })
} catch (error) {
  post({ kind: 'failed', failure: toPlainError(error) })
}
port.close()

async function openBackend(plan: GroupPlan, hooks: BackendHooks): Promise<Backend> {
  if (plan.kind === 'ring') return openRing(plan, hooks)
  if (plan.kind === 'mpi') return openMpi(plan)
  throw new Error(`internal: no backend of kind ${plan.kind}`)
}

/** For backends that block: no event loop, the bell wakes the thread. */
async function serveBlocking(backend: Backend, bell: Int32Array<SharedArrayBuffer>): Promise<void> {
  const callers: ServedCaller[] = []
  for (;;) {
    const rung = Atomics.load(bell, RUNG)
    for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) {
      const message = got.message as ToCommunication
      if (message.kind === 'close') {
        await close(backend, callers, message.reason)
        return
      }
      callers.push(served(message))
    }
    for (const caller of callers) {
      if (Atomics.load(caller.words, 0) !== STATE.asked) continue
      for (let got = receiveMessageOnPort(caller.port); got; got = receiveMessageOnPort(caller.port))
        remember(caller, got.message as CallerMessage)
      answer(caller, await attempt(backend, caller))
    }
    if (!hasRung(bell, rung)) Atomics.wait(bell, RUNG, rung, IDLE_MS)
    backend.idle?.()
  }
}

/** Looks for a moment before it sleeps: calls come in groups, and waking an idle processor takes longer than a call. */
function hasRung(bell: Int32Array<SharedArrayBuffer>, rung: number): boolean {
  for (let i = 0; i < SPINS; i++) if (Atomics.load(bell, RUNG) !== rung) return true
  return false
}

/** For backends that listen to sockets: everything comes as a message. */
async function serveByMessage(backend: Backend): Promise<void> {
  const callers: ServedCaller[] = []
  let last: Promise<void> = Promise.resolve()
  const reason = await new Promise<PlainError | undefined>((resolve) => {
    port.on('message', (message: ToCommunication) => {
      if (message.kind === 'close') {
        resolve(message.reason)
        return
      }
      const caller = served(message)
      callers.push(caller)
      caller.port.on('message', (message: CallerMessage) => {
        if (message !== 'asked') remember(caller, message)
        else last = last.then(async () => answer(caller, await attempt(backend, caller)))
      })
    })
  })
  // A call that waits for a rank that is gone must not delay the reason on its way to the others.
  if (!reason) await last
  await close(backend, callers, reason)
}

function served(caller: NewCaller): ServedCaller {
  return { ...caller, words: wordsOf(caller.control), memories: new Map() }
}

function remember({ memories }: ServedCaller, message: CallerMessage): void {
  if (message !== 'asked') memories.set(message.id, message.memory)
}

/** Makes the call that a thread has handed over. */
async function attempt(backend: Backend, { control, memories }: ServedCaller): Promise<CallAnswer> {
  try {
    const call = readCall(control, backend.size)
    const view = (span: Span) => numbers(memories, call.type, span)
    await makeCall(backend, call, view(call.values), view(call.target))
    return 'done'
  } catch (error) {
    return { failure: toPlainError(error) }
  }
}

function numbers(memories: ReadonlyMap<number, SharedArrayBuffer>, type: TypeName, span: Span): Numbers {
  const memory = memories.get(span.memory)
  if (!memory) throw new Error(`internal: memory ${span.memory} was never registered`)
  return viewOf(type, memory, span.offset, span.length)
}

function answer({ words, port, byMessage }: ServedCaller, message: CallAnswer): void {
  // A thread that waits looks for the message when it sees the state; one that gets the message goes on at once.
  if (!byMessage && message !== 'done') port.postMessage(message)
  Atomics.store(words, 0, message === 'done' ? STATE.done : STATE.failed)
  Atomics.notify(words, 0)
  if (byMessage) port.postMessage(message)
}

async function close(
  backend: Backend,
  callers: readonly ServedCaller[],
  reason: PlainError | undefined,
): Promise<void> {
  await backend.close(reason && fromPlainError(reason))
  for (const { words, port } of callers) {
    Atomics.store(words, 0, STATE.left)
    Atomics.notify(words, 0)
    port.close()
  }
}
