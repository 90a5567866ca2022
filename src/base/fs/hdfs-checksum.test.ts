import { expect, test } from 'vitest'
import { crc32c, SentBytes } from './hdfs-checksum.ts'

test('CRC-32C of RFC 3720', () => {
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43)
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e)
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
})

const contentOf = (length: number) => Uint8Array.from({ length }, (_, i) => (i * i * 31 + (i >> 9)) & 255)

async function sent(content: Uint8Array, step: number): Promise<SentBytes> {
  const bytes = new SentBytes()
  async function* pieces() {
    for (let at = 0; at < content.length; at += step) yield content.subarray(at, at + step)
  }
  for await (const _ of bytes.through(pieces()));
  return bytes
}

// What HDFS 3.4.1 answered, with blocks of 1 MiB.
test.each([
  [1, 'MD5-of-0MD5-of-512CRC32C', '000002000000000000000000dc236201841049096ad31b6213203a9000000000'],
  [512, 'MD5-of-0MD5-of-512CRC32C', '0000020000000000000000000c51df7e7e3a60d1cd6485c19e8686e400000000'],
  [80_000, 'MD5-of-0MD5-of-512CRC32C', '000002000000000000000000b83ea6acf54c95cd64e4004f87fa164800000000'],
  [1_048_576, 'MD5-of-0MD5-of-512CRC32C', '0000020000000000000000001c2924072d8cff13e56f6796ad8cf1ef00000000'],
  [1_048_577, 'MD5-of-2048MD5-of-512CRC32C', '000002000000000000000800ba0dfe966f353f46f2715aba6619409500000000'],
  [9_437_284, 'MD5-of-2048MD5-of-512CRC32C', '000002000000000000000800a73dba9c1497017514b174b7358816b000000000'],
])('%d bytes are known by the checksum of HDFS, however they are cut', async (length, algorithm, bytes) => {
  const content = contentOf(length)
  for (const step of [100, 70_001]) expect((await sent(content, step)).isSame({ algorithm, bytes })).toBe(true)
  content[length >> 1]! ^= 1
  expect((await sent(content, 70_001)).isSame({ algorithm, bytes })).toBe(false)
})

test('an empty file, and other ways to compute, cannot be compared', async () => {
  const empty = await sent(new Uint8Array(0), 1)
  expect(empty.isSame({ algorithm: 'MD5-of-0MD5-of-0CRC32', bytes: '00' })).toBeUndefined()
  expect(empty.isSame({ algorithm: 'COMPOSITE-CRC32C', bytes: '00' })).toBeUndefined()
})
