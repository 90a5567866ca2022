import { describe, expect, test } from 'vitest'
import { countsOf, gatherDense, gatherRows } from './gather.ts'
import type { ServerGroup } from './server-group.ts'

const bytesOf = (...arrays: readonly { readonly buffer: ArrayBuffer }[]) =>
  new Uint8Array(Buffer.concat(arrays.map(({ buffer }) => new Uint8Array(buffer))))

/** Servers that answer with these, one after the other. */
function answering(...bodies: readonly Uint8Array[]): ServerGroup {
  const left = [...bodies]
  return { size: bodies.length, request: async () => left.shift() } as unknown as ServerGroup
}

describe('a server that answers with what is none is named:', () => {
  test.each([
    ['half a count', new Uint8Array(12), 'counts in 12 bytes'],
    ['fewer rows than none', bytesOf(Float64Array.of(3, -1)), 'rows that cannot be counted'],
    ['rows that are no number', bytesOf(Float64Array.of(Number.NaN)), 'rows that cannot be counted'],
  ])('%s', async (_what, body, message) => {
    await expect(countsOf(answering(body), 0)).rejects.toThrow(
      `server[0] is gone: it brought what it may not bring (${message})`,
    )
  })

  test.each([
    ['rows without their number', new Uint8Array(4), 'rows without their number'],
    ['more rows than there are bytes', bytesOf(Uint32Array.of(0, 2 ** 31)), '2147483648 rows in 8 bytes'],
    ['rows of different lengths', bytesOf(Uint32Array.of(0, 2), new Uint8Array(16 + 5)), '2 rows in 5 bytes'],
  ])('%s', async (_what, body, message) => {
    const rows = gatherRows(answering(body, body), 0)
    await expect(rows.next()).rejects.toThrow(`server[0] is gone: it brought what it may not bring (${message})`)
  })

  const slices = [
    { from: 0, to: 2 },
    { from: 2, to: 3 },
  ]
  const dense = (floats: number) => bytesOf(Uint32Array.of(7, 0), new Float32Array(floats).fill(1))

  test('dense values that are no whole number of runs, and more of them than others have', async () => {
    await expect(gatherDense(answering(dense(3), dense(1)), slices)).rejects.toThrow(
      'server[0] is gone: it brought what it may not bring (12 bytes of 2 dense values)',
    )
    await expect(gatherDense(answering(dense(4), dense(1)), slices)).rejects.toThrow(
      'server[1] is gone: it brought what it may not bring (4 bytes of 1 dense values)',
    )
    const { bytes, steps } = await gatherDense(answering(dense(4), dense(2)), slices)
    expect([bytes.byteLength, steps]).toEqual([24, 7])
  })
})
