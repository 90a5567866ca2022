/** @file The embedded ring: over shared memory where all ranks are on one host, over sockets otherwise. */
import { createSharedMemory, memoryAddress, memoryAt, openSharedMemory, SILENCE_MS } from '../../../base/net/index.ts'
import type { Backend, BackendHooks, MemoryHandle } from '../backend.ts'
import type { RingPlan } from '../plan.ts'
import { MemoryRing, memoryRingBytes } from './memory-ring.ts'
import { nameOf } from './mesh.ts'
import { newProgress } from './shared-barrier.ts'
import { openSocketRing } from './socket-ring.ts'

const PATH_BYTES = 512

/** Ranks find each other over sockets in any case; a rank that sees the memory of rank 0 is on its host. */
export async function openRing(plan: RingPlan, { notice, isStopping }: BackendHooks): Promise<Backend> {
  const sockets = await openSocketRing(plan, notice)
  if (plan.within === 'sockets') return sockets
  const memory = await commonMemory(sockets)
  if (!memory) return sockets
  const { deadAfterMs = await agreedSilence(plan, sockets) } = plan
  await sockets.close()
  const { rank, size } = sockets
  const names = plan.endpoints.map((_, other) => nameOf(plan, other))
  const [address, bytes] = [memoryAddress(memory), memory.byteLength]
  const progress = newProgress()
  const direct: MemoryHandle = { kind: 'memory', address, bytes, rank, size, names, deadAfterMs, progress }
  return new MemoryRing(optionsOf(direct, memory, isStopping), direct)
}

/** The longest that any rank asks for: the one limit of all. */
async function agreedSilence({ identity: { silenceMs = SILENCE_MS } }: RingPlan, group: Backend): Promise<number> {
  const longest = Float64Array.of(silenceMs)
  await group.allReduce(longest, 'max')
  return longest[0]!
}

/** In another thread of a process that has opened a ring: the same ring. Threads take turns. */
export function attachRing(direct: MemoryHandle, isStopping: () => boolean): Backend {
  return new MemoryRing(optionsOf(direct, memoryAt(direct.address, direct.bytes), isStopping))
}

function optionsOf({ names, progress, ...own }: MemoryHandle, memory: ArrayBuffer, isStopping: () => boolean) {
  return { ...own, memory, nameOf: (rank: number) => names[rank]!, isStopping, progress: new Int32Array(progress) }
}

/** Memory that every rank sees; undefined when one does not. */
async function commonMemory(group: Backend): Promise<ArrayBuffer | undefined> {
  const bytes = memoryRingBytes(group.size)
  const made = group.rank === 0 ? createSharedMemory(bytes) : undefined
  const path = new Uint8Array(PATH_BYTES)
  path.set(Buffer.from(made?.path ?? ''))
  await group.broadcast(path, 0)
  const text = Buffer.from(path).toString('utf8').replace(/\0+$/, '')
  const memory = made?.buffer ?? (text ? openSharedMemory(text) : undefined)
  const seen = Int32Array.of(memory?.byteLength === bytes ? 1 : 0)
  await group.allReduce(seen, 'sum')
  made?.unlink()
  return seen[0] === group.size ? memory : undefined
}
