/** @file Trainer threads reach servers through the thread that owns the sockets: requests and answers change hands without a copy. */
import type { MessagePort } from 'node:worker_threads'
import type { DenseLayout, LocalParamsHandle } from '../params/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../util/index.ts'
import type { Slice } from './placement.ts'
import { type Call, RemoteParams } from './remote-params.ts'
import type { ServerGroup } from './server-group.ts'

/** Parameters on servers as plain data plus a port: goes to a trainer thread, the port by transfer. */
export interface RemoteParamsHandle {
  readonly kind: 'remote'
  readonly port: MessagePort
  readonly thread: number
  readonly layout: DenseLayout
  readonly slices: readonly Slice[]
  readonly segments: number
  readonly placement: { readonly servers: number; readonly shards: number }
  /** Batches that may be asked for before the gradients of the one before are sent: 1 overlaps, 0 does not. */
  readonly pullsAhead: 0 | 1
}

/** A geo worker's: its own copy to train, and the servers' model to evaluate. */
export interface GeoParamsHandle {
  readonly kind: 'geo'
  readonly local: LocalParamsHandle
  readonly remote: RemoteParamsHandle
}

interface Ask {
  readonly id: number
  readonly server: number
  readonly method: number
  readonly body: Uint8Array<ArrayBuffer>
  readonly what: string
}

type Answer = { readonly id: number } & ({ readonly body: Uint8Array<ArrayBuffer> } | { readonly error: PlainError })

/** In a trainer thread: its hold on the servers. */
export function openRemoteParams({ port, thread, segments, slices, pullsAhead }: RemoteParamsHandle): RemoteParams {
  return new RemoteParams({ call: callsOver(port), thread, segments, slices, ahead: pullsAhead > 0 })
}

function callsOver(port: MessagePort): Call {
  const pending = new Map<number, { resolve: (body: Uint8Array<ArrayBuffer>) => void; reject: (e: Error) => void }>()
  let next = 0
  port.on('message', (answer: Answer) => {
    const waiting = pending.get(answer.id)!
    pending.delete(answer.id)
    if ('error' in answer) waiting.reject(fromPlainError(answer.error))
    else waiting.resolve(answer.body)
  })
  return (server, method, body, what) =>
    new Promise((resolve, reject) => {
      const id = next++
      pending.set(id, { resolve, reject })
      port.postMessage({ id, server, method, body, what } satisfies Ask, [body.buffer])
    })
}

/** In the thread that owns the sockets: answers one trainer thread. Deadlines are the group's. */
export function serveThread(port: MessagePort, servers: ServerGroup): void {
  port.on('message', ({ id, server, method, body, what }: Ask) => {
    servers.request(server, method, [body], what).then(
      (answer) => port.postMessage({ id, body: answer } satisfies Answer, [answer.buffer]),
      (error: unknown) => port.postMessage({ id, error: toPlainError(error) } satisfies Answer),
    )
  })
}
