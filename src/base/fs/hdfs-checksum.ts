/**
 * @file The checksum by which HDFS knows a file, computed from what is sent, or comes: the MD5 of the MD5s of its blocks, each over the CRCs of the
 * block's pieces of 512 bytes. How large blocks are says the answer, so the CRCs are kept until then: 8 MB for each GB.
 */
import { createHash } from 'node:crypto'

/** As GETFILECHECKSUM answers. */
export interface FileChecksum {
  /** `MD5-of-262144MD5-of-512CRC32C`: CRCs of a block (0: there is one block only), bytes of a CRC. */
  readonly algorithm: string
  /** In hexadecimal: 12 bytes that repeat the algorithm's numbers, 16 bytes of MD5, and what is left of Hadoop's buffer. */
  readonly bytes: string
}

const PIECE_BYTES = 512
const CRC_BYTES = 4

export class SentBytes {
  #crcs = Buffer.alloc(1024 * CRC_BYTES)
  #pieces = 0
  /** Of a piece that is not whole yet. */
  readonly #rest = Buffer.alloc(PIECE_BYTES)
  #filled = 0

  /** The content as it is, counted on its way. */
  async *through(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const bytes of content) {
      this.#add(bytes)
      yield bytes
    }
  }

  /** Undefined where HDFS computes in another way. */
  isSame({ algorithm, bytes }: FileChecksum): boolean | undefined {
    const [, perBlock] = /^MD5-of-(\d+)MD5-of-512CRC32C$/.exec(algorithm) ?? []
    if (perBlock === undefined) return undefined
    if (this.#filled > 0) this.#push(this.#rest.subarray(0, this.#filled))
    this.#filled = 0
    return bytes.slice(24, 56).toLowerCase() === this.#digest(Number(perBlock) || this.#pieces)
  }

  #add(bytes: Uint8Array): void {
    let at = 0
    if (this.#filled > 0) {
      at = Math.min(bytes.length, PIECE_BYTES - this.#filled)
      this.#rest.set(bytes.subarray(0, at), this.#filled)
      this.#filled += at
      if (this.#filled < PIECE_BYTES) return
      this.#push(this.#rest)
    }
    for (; at + PIECE_BYTES <= bytes.length; at += PIECE_BYTES) this.#push(bytes.subarray(at, at + PIECE_BYTES))
    this.#filled = bytes.length - at
    this.#rest.set(bytes.subarray(at))
  }

  #push(piece: Uint8Array): void {
    const end = (this.#pieces + 1) * CRC_BYTES
    if (end > this.#crcs.length) this.#crcs = Buffer.concat([this.#crcs], 2 * this.#crcs.length)
    this.#crcs.writeUInt32BE(crc32c(piece), end - CRC_BYTES)
    this.#pieces++
  }

  #digest(perBlock: number): string {
    const blocks: Buffer[] = []
    for (let at = 0; at < this.#pieces; at += perBlock)
      blocks.push(md5(this.#crcs.subarray(at * CRC_BYTES, Math.min(at + perBlock, this.#pieces) * CRC_BYTES)))
    return md5(padded(Buffer.concat(blocks))).toString('hex')
  }
}

/** Hadoop sums up the whole of its buffer, which doubles from 32 bytes on, with the zeros behind what was written. */
function padded(sums: Buffer): Buffer {
  let length = 32
  while (length < sums.length) length *= 2
  return Buffer.concat([sums], length)
}

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest()

const POLYNOMIAL = 0x82f63b78

/** TABLES[k][b]: what byte b does to the sum when k more bytes follow in the same step. */
const TABLES = makeTables(8) as unknown as readonly [T, T, T, T, T, T, T, T]
type T = Uint32Array

export function crc32c(bytes: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES
  let sum = 0xffffffff
  let i = 0
  for (; i + 8 <= bytes.length; i += 8) {
    const low = sum ^ (bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24))
    sum =
      t7[low & 255]! ^
      t6[(low >>> 8) & 255]! ^
      t5[(low >>> 16) & 255]! ^
      t4[low >>> 24]! ^
      t3[bytes[i + 4]!]! ^
      t2[bytes[i + 5]!]! ^
      t1[bytes[i + 6]!]! ^
      t0[bytes[i + 7]!]!
  }
  for (; i < bytes.length; i++) sum = t0[(sum ^ bytes[i]!) & 255]! ^ (sum >>> 8)
  return ~sum >>> 0
}

function makeTables(count: number): readonly Uint32Array[] {
  const tables = [Uint32Array.from({ length: 256 }, (_, byte) => shifted(byte))]
  for (let k = 1; k < count; k++) {
    const before = tables[k - 1]!
    tables.push(before.map((value) => tables[0]![value & 255]! ^ (value >>> 8)))
  }
  return tables
}

/** One byte through eight steps of the division. */
function shifted(byte: number): number {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? POLYNOMIAL ^ (value >>> 1) : value >>> 1
  return value
}
