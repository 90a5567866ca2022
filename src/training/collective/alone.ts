/** @file A group of one process, without a thread: what others would have sent is nothing. */
import { MessageChannel } from 'node:worker_threads'
import { newControl } from './control.ts'
import type { BlockingGroup, Group, GroupHandle, Numbers, Operations, Way } from './group.ts'

export function aloneGroup(): Group {
  return {
    ...operations<'promise'>(async (value) => value),
    kind: 'alone',
    description: 'this process alone',
    handle: newHandle,
    close: async () => undefined,
  }
}

/** The same for a thread that waits. */
export function aloneBlocking(): BlockingGroup {
  return { ...operations<'blocking'>((value) => value), begin: operations<'begun'>((value) => () => value) }
}

/** `give` returns a value the way that a thread waits for it, which one type cannot say of all methods at once. */
function operations<W extends Way>(give: (value: unknown) => unknown): Operations<W> {
  const copied = (values: Numbers) => give({ values: values.slice(), counts: [values.length] })
  const nothing = () => give(undefined)
  return {
    rank: 0,
    size: 1,
    allReduce: nothing,
    broadcast: nothing,
    reduceScatter: (values: Numbers) => give(values.slice()),
    allGather: copied,
    allToAll: copied,
    barrier: nothing,
  } as unknown as Operations<W>
}

function newHandle(): GroupHandle {
  const { port1: port, port2 } = new MessageChannel()
  port2.close()
  return { rank: 0, size: 1, control: newControl(1), bell: new SharedArrayBuffer(4), port, wakeByMessage: false }
}
