/** @file Entry of a further thread of a server: it serves pulls and pushes from the same tables, at a port of its own. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { processEnv } from '../../base/env/index.ts'
import {
  type Connection,
  type Identity,
  newLocalPath,
  type PeerIdentity,
  Strangers,
  serverHandshake,
  socketTransport,
} from '../../base/net/index.ts'
import { openTracer } from '../../base/trace/index.ts'
import { threadSettings } from '../../base/util/index.ts'
import { notAWorker } from './errors.ts'
import type { HotTable } from './hot-rows.ts'
import { type AttachedStore, KernelStore } from './kernel-store.ts'
import { ParameterServer } from './server.ts'
import type { Lane } from './shard-threads.ts'
import { LINK_MEMORY, type LinkMemory, openLinkMemory, ServedThreads } from './thread-link.ts'
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
  | { readonly kind: 'hot'; readonly asked: number; readonly table: number; readonly most: number }
  /** Rows of every push that was answered are to be in the tables. */
  | { readonly kind: 'settle'; readonly asked: number }
export type FromShard =
  | { readonly kind: 'open'; readonly lane: Lane }
  | { readonly kind: 'attached' }
  | { readonly kind: 'remembered'; readonly asked: number; readonly memory: UpdateMemory }
  | { readonly kind: 'hottest'; readonly asked: number; readonly hot: HotTable }
  | { readonly kind: 'settled'; readonly asked: number }
  | { readonly kind: 'warning'; readonly message: string }

await run(parentPort!, threadSettings<ShardSettings>())

async function run(port: MessagePort, settings: ShardSettings): Promise<void> {
  const { thread, workers, threads, host, store: attached } = settings
  const say = (message: FromShard) => port.postMessage(message)
  const store = new KernelStore(attached.options, attached.handle, thread)
  const tracer = openTracer(processEnv(), { 'oarfish.role': 'server', 'oarfish.rank': settings.identity.rank })
  const { segments } = attached.options
  const server = new ParameterServer({ store, mode: 'async', workers, threads, segments, tracer })
  const onWarning = (message: string) => say({ kind: 'warning', message })
  const strangers = new Strangers({ onWarning, hosts: settings.identity.hosts })
  const accept = acceptor(settings, server, strangers)
  const path = newLocalPath()
  const [listener] = await Promise.all([
    socketTransport.listen(`${host}:0`, accept, { tls: settings.identity.tls, door: strangers }),
    path ? socketTransport.listen(path, accept) : undefined,
  ])
  port.on('message', (message: ToShard) => {
    if (message.kind === 'attach') {
      store.reattach(message.store)
      say({ kind: 'attached' })
    } else if (message.kind === 'settle') {
      server.settle()
      say({ kind: 'settled', asked: message.asked })
    } else if (message.kind === 'hot') {
      const { asked, table, most } = message
      say({ kind: 'hottest', asked, hot: server.hot.of(table, most) })
    } else {
      const { asked, table, sign } = message
      say({ kind: 'remembered', asked, memory: server.updates.memoryOf(table, sign) })
    }
  })
  say({ kind: 'open', lane: { endpoint: listener.endpoint, path } })
}

/** Admits threads of the job's workers. */
function acceptor({ identity, workers }: ShardSettings, server: ParameterServer, strangers: Strangers) {
  const threads = new ServedThreads(server)
  const admit = async (connection: Connection) => {
    const object = ({ role, rank }: PeerIdentity) =>
      role === 'worker' && rank < workers ? undefined : notAWorker(workers)
    let memory: LinkMemory | undefined
    const factsFor = ({ facts }: PeerIdentity): PeerIdentity['facts'] => {
      memory = openLinkMemory(facts, server.store)
      return memory ? { [LINK_MEMORY]: 'mapped' } : {}
    }
    const { rank, facts } = await serverHandshake(connection, identity, object, factsFor)
    if (facts[LINK_MEMORY] !== undefined && !memory) connection.close()
    else threads.add(connection, rank, memory ?? {})
  }
  return (connection: Connection) => void strangers.guard(connection, admit)
}
