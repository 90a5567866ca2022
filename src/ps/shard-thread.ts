/** @file Entry of a further thread of a server: it serves pulls and pushes from the same tables, at a port of its own. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import {
  type Connection,
  hearHello,
  type Identity,
  newLocalPath,
  type PeerIdentity,
  socketTransport,
} from '../net/index.ts'
import { type AttachedStore, KernelStore } from './kernel-store.ts'
import { Links } from './links.ts'
import { ParameterServer } from './server.ts'
import type { Lane } from './shard-threads.ts'
import { Strangers } from './strangers.ts'
import { LINK_MEMORY, type LinkMemory, openLinkMemory } from './thread-link.ts'
import type { UpdateMemory } from './update-log.ts'

export interface ShardSettings {
  readonly store: AttachedStore
  readonly thread: number
  readonly identity: Identity
  readonly workers: number
  /** Trainer threads of each worker; 0: each says so when it joins. */
  readonly threads: number
  readonly host: string
}

export type ToShard =
  | { readonly kind: 'attach'; readonly store: AttachedStore }
  | { readonly kind: 'remember'; readonly asked: number; readonly table: number; readonly sign: bigint }
export type FromShard =
  | { readonly kind: 'open'; readonly lane: Lane }
  | { readonly kind: 'attached' }
  | { readonly kind: 'remembered'; readonly asked: number; readonly memory: UpdateMemory }
  | { readonly kind: 'warning'; readonly message: string }

await run(parentPort!, workerData as ShardSettings)

async function run(port: MessagePort, settings: ShardSettings): Promise<void> {
  const { thread, workers, threads, host, store: attached } = settings
  const say = (message: FromShard) => port.postMessage(message)
  const store = KernelStore.attach(attached, thread)
  const server = new ParameterServer({ store, mode: 'async', workers, threads, segments: attached.options.segments })
  const accept = acceptor(settings, server, (message) => say({ kind: 'warning', message }))
  const path = newLocalPath()
  const [listener] = await Promise.all([
    socketTransport.listen(`${host}:0`, accept),
    path ? socketTransport.listen(path, accept) : undefined,
  ])
  port.on('message', (message: ToShard) => {
    if (message.kind === 'attach') {
      store.reattach(message.store)
      say({ kind: 'attached' })
    } else {
      const { asked, table, sign } = message
      say({ kind: 'remembered', asked, memory: server.updates.memoryOf(table, sign) })
    }
  })
  say({ kind: 'open', lane: { endpoint: listener.endpoint, ...(path && { path }) } })
}

/** Admits threads of the job's workers. */
function acceptor({ identity, workers }: ShardSettings, server: ParameterServer, warn: (message: string) => void) {
  const links = new Links(server)
  const strangers = new Strangers((event) => 'message' in event && warn(String(event.message)))
  const admit = async (connection: Connection) => {
    const object = ({ role, rank }: PeerIdentity) =>
      role === 'worker' && rank < workers
        ? undefined
        : { refusal: `it is not one of ${workers} workers`, hint: 'check PADDLE_TRAINER_ID' }
    let memory: LinkMemory | undefined
    const tell = ({ facts }: PeerIdentity): PeerIdentity['facts'] => {
      memory = openLinkMemory(facts, server.store)
      return memory ? { [LINK_MEMORY]: 'mapped' } : {}
    }
    const { rank, facts } = await hearHello(connection, identity, object, tell)
    if (facts[LINK_MEMORY] !== undefined && !memory) connection.close()
    else links.add(connection, rank, memory ?? {})
  }
  return (connection: Connection) => {
    if (strangers.isTooOften(connection.remote)) return connection.close()
    admit(connection).catch((error: unknown) => {
      connection.close()
      strangers.refused(connection.remote, error)
    })
  }
}
