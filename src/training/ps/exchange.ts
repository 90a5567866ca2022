/** @file Samples between workers by way of the servers: round by round, so that no server ever holds more than one round. */
import { checkMessage } from '../../base/net/index.ts'
import type { Exchange } from '../../data/index.ts'
import { METHODS } from './protocol.ts'
import type { ServerGroup } from './server-group.ts'

// Parcels: a byte that is 1 when the sender has no more, then the content. The mailbox of worker w is on server w mod servers.
const [MORE, LAST] = [0, 1]

export function serverExchange(servers: ServerGroup, rank: number, workers: number): Exchange {
  const ranks = Array.from({ length: workers }, (_, i) => i)
  const address = (name: string, round: number, from: number, to: number) => `${name}, round ${round}: ${from} to ${to}`
  const put = async (at: string, to: number, flag: number, parcel: Uint8Array) => {
    const head = Buffer.from(`${at}\0`)
    await servers.request(to % servers.size, METHODS.putParcel, [head, Uint8Array.of(flag), parcel], `put(${at})`)
  }
  const take = async (at: string) => {
    for (;;) {
      const parcel = await servers.request(rank % servers.size, METHODS.takeParcel, [Buffer.from(at)], `take(${at})`)
      if (parcel.byteLength > 0) return { isLast: parcel[0] === LAST, content: parcel.subarray(1) }
    }
  }
  async function* swap(name: string, rounds: Iterable<readonly Uint8Array[]>): AsyncGenerator<readonly Uint8Array[]> {
    const mine = rounds[Symbol.iterator]()
    const senders = new Set(ranks)
    let isSending = true
    for (let round = 0; senders.size > 0; round++) {
      if (isSending) {
        const { value, done } = mine.next()
        const flag = done ? LAST : MORE
        isSending = !done
        await Promise.all(
          ranks.map((to) => put(address(name, round, rank, to), to, flag, done ? new Uint8Array(0) : value[to]!)),
        )
      }
      const from = [...senders]
      const parcels = await Promise.all(from.map((sender) => take(address(name, round, sender, rank))))
      for (const [i, { isLast }] of parcels.entries()) if (isLast) senders.delete(from[i]!)
      yield ranks.map((sender) => parcels[from.indexOf(sender)]?.content ?? new Uint8Array(0))
    }
  }
  return { rank, workers, swap }
}

const MAX_ADDRESS_BYTES = 4096

/** A parcel as it comes to the server. */
export function decodeParcel(body: Uint8Array): { readonly address: string; readonly parcel: Uint8Array } {
  const end = body.indexOf(0)
  checkMessage(end > 0 && end <= MAX_ADDRESS_BYTES, 'a parcel without an address')
  return { address: Buffer.from(body.subarray(0, end)).toString('utf8'), parcel: body.subarray(end + 1) }
}

/** An answer is given after so long at the latest: a wait must not look like a dead server. */
const PATIENCE_MS = 3000

/** On a server: parcels from worker to worker are left here and fetched here. Workers have no connections among themselves. */
export class Mailbox {
  readonly #parcels = new Map<string, Uint8Array>()
  readonly #waiting = new Map<string, () => void>()

  put(address: string, parcel: Uint8Array): void {
    this.#parcels.set(address, parcel)
    this.#waiting.get(address)?.()
  }

  /** Fetched once; undefined: it has not come yet, ask again. */
  async take(address: string): Promise<Uint8Array | undefined> {
    if (!this.#parcels.has(address)) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, PATIENCE_MS).unref()
        this.#waiting.set(address, () => {
          clearTimeout(timer)
          resolve()
        })
      })
      this.#waiting.delete(address)
    }
    const parcel = this.#parcels.get(address)
    this.#parcels.delete(address)
    return parcel
  }
}
