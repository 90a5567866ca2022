/** @file Entry of the thread that finds rows in runs: signs come in, rows go out, while the thread that asked does something else. */
import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { toPlainError } from '../../base/util/index.ts'
import type { StoredRun } from './merge.ts'
import { RunSearch, SIGNS } from './run-search.ts'
import {
  FINDS,
  type FoundBlock,
  type FromSearchThread,
  type SearchThreadData,
  type ToSearchThread,
  USES,
} from './search-messages.ts'

type FindMessage = Extract<ToSearchThread, { kind: 'find' }>

const { port, shared, kind, pagesAtOnce } = workerData as SearchThreadData
const search = new RunSearch(kind, pagesAtOnce)
const spares: ArrayBuffer[] = []
/** Of runs that could not be opened: said with the next search, and with all after it. */
let failure: unknown

port.on('message', (message: ToSearchThread) => {
  for (let next: ToSearchThread | undefined = message; next; ) {
    if (next.kind === 'find') next = answer(next)
    else {
      use(next.runs)
      next = receive()
    }
  }
})

function receive(): ToSearchThread | undefined {
  return receiveMessageOnPort(port)?.message as ToSearchThread | undefined
}

function use(runs: readonly StoredRun[]): void {
  try {
    search.use(runs)
  } catch (error) {
    failure ??= error
  }
  tell(USES, 1)
}

/** Searches that wait are made as one, since every group of reads ends with the slowest of them. Returns a message that is none. */
function answer(first: FindMessage): ToSearchThread | undefined {
  const all = [first]
  let next = receive()
  for (let signs = first.signs.length; next?.kind === 'find' && signs + next.signs.length <= SIGNS; next = receive()) {
    signs += next.signs.length
    all.push(next)
  }
  for (const { spare } of all) if (spare) spares.push(spare)
  const blocks: FoundBlock[] = []
  try {
    if (failure !== undefined) throw failure
    search.find(joined(all), (signs, rows) => blocks.push(blockOf(signs, rows)))
    say(
      { finds: all.length, blocks },
      blocks.map(({ buffer }) => buffer),
    )
  } catch (error) {
    say({ finds: all.length, error: toPlainError(error) }, [])
  }
  tell(FINDS, all.length)
  return next
}

function say(message: FromSearchThread, transfer: ArrayBuffer[]): void {
  port.postMessage(message, transfer)
}

function tell(which: number, count: number): void {
  const { memoryBytes, pagesRead, falsePages, readBytes, readSeconds, isDirect } = search.stats
  shared.stats.set([memoryBytes, pagesRead, falsePages, readBytes, readSeconds, Number(isDirect)])
  Atomics.add(shared.done, which, count)
  Atomics.notify(shared.done, which)
}

function joined(all: readonly FindMessage[]): BigUint64Array {
  if (all.length === 1) return all[0]!.signs
  const signs = new BigUint64Array(all.reduce((sum, { signs: { length } }) => sum + length, 0))
  let at = 0
  for (const one of all) {
    signs.set(one.signs, at)
    at += one.signs.length
  }
  return signs
}

function blockOf(signs: BigUint64Array, rows: Uint8Array): FoundBlock {
  const bytes = signs.byteLength + rows.length
  const spare = spares.pop()
  const buffer = spare && spare.byteLength >= bytes ? spare : new ArrayBuffer(Math.ceil(bytes * 1.25))
  new BigUint64Array(buffer, 0, signs.length).set(signs)
  new Uint8Array(buffer, signs.byteLength, rows.length).set(rows)
  return { buffer, count: signs.length }
}
