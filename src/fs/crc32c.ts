/** @file CRC-32C (Castagnoli), which Node has not: HDFS keeps one for each 512 bytes. */

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
