/** @file Parcels from worker to worker: left at a server, fetched there. Workers have no connections among themselves. */

/** An answer is given after so long at the latest: a wait must not look like a dead server. */
const PATIENCE_MS = 3000

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
