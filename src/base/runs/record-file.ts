/** @file Records one behind the other in a file that is only added to: a letter, a length, a checksum, then its bytes. Torn and damaged ones are passed over and counted. */
import { crc32 } from 'node:zlib'

const HEAD_BYTES = 9

export function record(kind: number, body: Uint8Array): Uint8Array {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head.writeUInt8(kind, 0)
  head.writeUInt32LE(body.length, 1)
  head.writeUInt32LE(crc32(body), 5)
  return Buffer.concat([head, body])
}

export interface RecordsEnd {
  /** Records that could not be read. */
  readonly damaged: number
  /** Where the next record will begin. */
  readonly end: number
}

/** Calls `take` with every whole record of these kinds: its kind, and where its body lies. */
export function eachRecord(
  bytes: Buffer,
  kinds: readonly number[],
  take: (kind: number, from: number, to: number) => void,
): RecordsEnd {
  let [at, damaged] = [0, 0]
  while (at + HEAD_BYTES <= bytes.length) {
    const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 1)
    if (!kinds.includes(bytes[at]!) || end > bytes.length) {
      const next = nextRecord(bytes, kinds, at + 1)
      if (next === undefined) break
      damaged++
      at = next
    } else if (isWhole(bytes, at, end)) {
      take(bytes[at]!, at + HEAD_BYTES, end)
      at = end
    } else {
      damaged++
      at = nextRecord(bytes, kinds, at + 1) ?? end // its length may be what is damaged
    }
  }
  return { damaged, end: at }
}

const isWhole = (bytes: Buffer, at: number, end: number) =>
  crc32(bytes.subarray(at + HEAD_BYTES, end)) === bytes.readUInt32LE(at + 5)

/** After damage: the next place from which a record with a right checksum begins. */
function nextRecord(bytes: Buffer, kinds: readonly number[], from: number): number | undefined {
  for (let at = from; at + HEAD_BYTES <= bytes.length; at++) {
    if (!kinds.includes(bytes[at]!)) continue
    const length = bytes.readUInt32LE(at + 1)
    const end = at + HEAD_BYTES + length
    if (length > 0 && end <= bytes.length && isWhole(bytes, at, end)) return at
  }
  return undefined
}
