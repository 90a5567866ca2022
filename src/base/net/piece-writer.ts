/** @file Writes to an encrypted socket one buffer at a time: given several, Node first copies them into one. */
import type { Socket } from 'node:net'

/** Buffers shorter than this are put together, so that each record is worth its head. */
const SMALL_BYTES = 64 * 1024
/** Longer ones are cut: what is encrypted is still in the cache when it goes out. */
const LARGE_BYTES = 256 * 1024

export class PieceWriter {
  readonly #socket: Socket
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isBusy = false
  #isEnding = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Given to it and not yet to the socket. */
  get bytes(): number {
    return this.#bytes
  }

  write(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      for (let at = 0; at < piece.byteLength; at += LARGE_BYTES)
        this.#waiting.push(piece.subarray(at, at + LARGE_BYTES))
      this.#bytes += piece.byteLength
    }
    if (!this.#isBusy) this.#next()
  }

  /** After what was written. */
  end(): void {
    this.#isEnding = true
    if (!this.#isBusy) this.#next()
  }

  #next(): void {
    const piece = this.#take()
    this.#isBusy = piece !== undefined
    if (piece) this.#socket.write(piece, () => this.#next())
    else if (this.#isEnding) this.#socket.end()
  }

  #take(): Uint8Array | undefined {
    const small: Uint8Array[] = []
    let bytes = 0
    while (this.#waiting.length > small.length) {
      const { byteLength } = this.#waiting[small.length]!
      if (bytes + byteLength > SMALL_BYTES) break
      small.push(this.#waiting[small.length]!)
      bytes += byteLength
    }
    const [first] = this.#waiting
    const taken = Math.max(1, small.length)
    this.#waiting = taken < this.#waiting.length ? this.#waiting.slice(taken) : []
    const piece = small.length > 1 ? Buffer.concat(small) : first
    this.#bytes -= piece?.byteLength ?? 0
    return piece
  }
}
