/** @file A group of one process, without a thread: what others would have sent is nothing. */
import { MessageChannel } from 'node:worker_threads'
import { newControl } from './control.ts'
import type { BlockingGroup, Group, Numbers, Operations, SeatHandle } from './group.ts'

export function aloneGroup(): Group {
  const { allReduce, broadcast, reduceScatter, allGather, allToAll, barrier } = aloneSeat()
  const promised: Operations<'promise'> = {
    rank: 0,
    size: 1,
    allReduce: async (values, reduction) => allReduce(values, reduction),
    broadcast: async (values) => broadcast(values),
    reduceScatter: async (values, reduction) => reduceScatter(values, reduction),
    allGather: async (own) => allGather(own),
    allToAll: async (values, counts) => allToAll(values, counts),
    barrier: async () => barrier(),
  }
  return { ...promised, kind: 'alone', description: 'this process alone', seat: newSeat, close: async () => undefined }
}

/** The same for a thread that waits. */
export function aloneSeat(): BlockingGroup {
  const own = operations()
  const later =
    <A extends unknown[], T>(call: (...args: A) => T) =>
    (...args: A) => {
      const result = call(...args)
      return () => result
    }
  const begin = Object.fromEntries(
    Object.entries(own).map(([name, call]) => [name, typeof call === 'function' ? later(call as never) : call]),
  )
  return { ...own, begin: begin as unknown as BlockingGroup['begin'] }
}

function operations(): Operations<'blocking'> {
  const copied = <T extends Numbers>(values: T) => ({ values: values.slice() as T, counts: [values.length] })
  return {
    rank: 0,
    size: 1,
    allReduce: () => undefined,
    broadcast: () => undefined,
    reduceScatter: (values) => copied(values).values,
    allGather: copied,
    allToAll: copied,
    barrier: () => undefined,
  }
}

function newSeat(): SeatHandle {
  const { port1: port, port2 } = new MessageChannel()
  port2.close()
  return { rank: 0, size: 1, control: newControl(1), bell: new SharedArrayBuffer(4), port, wakeByMessage: false }
}
