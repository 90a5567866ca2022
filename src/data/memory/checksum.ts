/** @file A running checksum over samples: the same however the samples are cut into parts and batches. */
import { crc32 } from 'node:zlib'
import { bytesOf } from '../../base/util/index.ts'
import type { ParsedChunk } from '../batch.ts'

export interface SampleChecksum {
  add(chunk: ParsedChunk, from: number, to: number): void
  readonly value: number
}

export function createChecksum(): SampleChecksum {
  // One sum per array: each sees its values in order, wherever the samples are cut.
  const sums: number[] = []
  return {
    add: (chunk, from, to) => {
      if (from === to) return
      const { samples, counts, starts, signs, dense } = chunk
      const slice = (array: ParsedChunk['dense'][number] | ParsedChunk['counts']) => {
        const width = array.length / samples
        return bytesOf(array.subarray(from * width, to * width))
      }
      const arrays = [slice(counts), bytesOf(signs.subarray(starts[from], starts[to])), ...dense.map(slice)]
      for (const [i, bytes] of arrays.entries()) sums[i] = crc32(bytes, sums[i] ?? 0)
    },
    get value() {
      return crc32(Buffer.from(Uint32Array.from(sums).buffer))
    },
  }
}
