/** @file Writes to an encrypted socket one buffer at a time: given several, Node first copies them into one. */
import type { Socket } from 'node:net'

/**
 * Buffers are put together up to this, a head and 256 kB: each write is a turn of the event loop, which costs more than the copy. The memory is
 * used again, since the socket has encrypted it when it calls back.
 */
const TOGETHER_BYTES = 260 * 1024
/** Longer ones are cut: what is encrypted is still in the cache when it goes out. */
const LARGE_BYTES = 512 * 1024

export class PieceWriter {
  readonly #socket: Socket
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isBusy = false
  #isEnding = false
  #together = new Uint8Array(0)

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
    let [count, bytes] = [0, 0]
    for (const { byteLength } of this.#waiting) {
      if (count > 0 && bytes + byteLength > TOGETHER_BYTES) break
      count++
      bytes += byteLength
    }
    const taken = this.#waiting.splice(0, count)
    this.#bytes -= bytes
    return count > 1 ? this.#joined(taken, bytes) : taken[0]
  }

  #joined(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
    if (this.#together.byteLength < bytes) this.#together = Buffer.allocUnsafeSlow(Math.min(TOGETHER_BYTES, 2 * bytes))
    let at = 0
    for (const piece of pieces) {
      this.#together.set(piece, at)
      at += piece.byteLength
    }
    return this.#together.subarray(0, bytes)
  }
}
