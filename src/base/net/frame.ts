/** @file Frames as bytes: a head of 16 bytes with length and checksum, then the body. */
import { crc32 } from 'node:zlib'
import { FRAME_TYPES, type Frame, type FrameHead, type FrameType } from './transport.ts'

//  0 u32 bytes of the body · 4 u32 CRC-32 of what follows · 8 u8 type · 9 u8 method · 10 u16 zero · 12 u32 id
export const HEAD_BYTES = 16
const TYPE_NAMES = new Map<number, FrameType>(
  Object.entries(FRAME_TYPES).map(([name, number]) => [number, name as FrameType]),
)

/** The head of a frame whose body is `parts` back to back; without a checksum where what carries it has its own. */
export function encodeHead(
  { type, method, id }: FrameHead,
  parts: readonly Uint8Array[],
  isChecked = true,
): Uint8Array {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head.writeUInt32LE(byteLengthOf(parts), 0)
  head.writeUInt8(FRAME_TYPES[type], 8)
  head.writeUInt8(method, 9)
  head.writeUInt16LE(0, 10)
  head.writeUInt32LE(id, 12)
  head.writeUInt32LE(isChecked ? checksum(head, parts) : 0, 4)
  return head
}

export function byteLengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

function checksum(head: Uint8Array, parts: readonly Uint8Array[]): number {
  let value = crc32(head.subarray(8))
  // Of nothing, zlib gives the checksum of nothing, whatever came before.
  for (const part of parts) if (part.byteLength > 0) value = crc32(part, value)
  return value
}

/** Puts frames together from pieces as they come off a socket. Throws on what cannot be a frame: the stream is lost then. */
export class FrameReader {
  limit: number
  readonly #onFrame: (frame: Frame) => void
  readonly #isChecked: boolean
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #headBytes = 0
  #body: Buffer<ArrayBuffer> | undefined
  #bodyBytes = 0
  #crc = 0

  constructor(limit: number, onFrame: (frame: Frame) => void, isChecked = true) {
    this.limit = limit
    this.#onFrame = onFrame
    this.#isChecked = isChecked
  }

  push(piece: Uint8Array): void {
    for (let at = 0; at < piece.byteLength; ) {
      at += this.#body ? this.#takeBody(piece, at) : this.#takeHead(piece, at)
      if (this.#body && this.#bodyBytes === this.#body.byteLength) this.#finish()
    }
  }

  #takeHead(piece: Uint8Array, at: number): number {
    const taken = Math.min(HEAD_BYTES - this.#headBytes, piece.byteLength - at)
    this.#head.set(piece.subarray(at, at + taken), this.#headBytes)
    this.#headBytes += taken
    if (this.#headBytes < HEAD_BYTES) return taken
    const bytes = this.#head.readUInt32LE(0)
    if (!TYPE_NAMES.has(this.#head.readUInt8(8)) || this.#head.readUInt16LE(10) !== 0)
      throw new Error('what came is not a frame: the other side speaks another protocol')
    if (bytes > this.limit) throw new Error(`a frame of ${bytes} bytes is over the limit of ${this.limit}`)
    // Slow: a buffer of its own, so that views are aligned and the memory can go to another thread.
    this.#body = Buffer.allocUnsafeSlow(bytes)
    this.#bodyBytes = 0
    this.#crc = this.#isChecked ? checksum(this.#head, []) : 0
    return taken
  }

  #takeBody(piece: Uint8Array, at: number): number {
    const body = this.#body!
    const taken = Math.min(body.byteLength - this.#bodyBytes, piece.byteLength - at)
    const part = piece.subarray(at, at + taken)
    body.set(part, this.#bodyBytes)
    // Summed up as the pieces come, while the rest is on its way.
    if (taken > 0 && this.#isChecked) this.#crc = crc32(part, this.#crc)
    this.#bodyBytes += taken
    return taken
  }

  #finish(): void {
    const [head, body] = [this.#head, this.#body!]
    if (this.#crc !== head.readUInt32LE(4)) throw new Error('a frame arrived damaged (checksum)')
    this.#body = undefined
    this.#headBytes = 0
    this.#onFrame({
      type: TYPE_NAMES.get(head.readUInt8(8))!,
      method: head.readUInt8(9),
      id: head.readUInt32LE(12),
      body: new Uint8Array(body.buffer),
    })
  }
}
