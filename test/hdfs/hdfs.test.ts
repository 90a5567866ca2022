/** @file The HDFS file system against a real HDFS: `npm run e2e:hdfs` starts one and sets OARFISH_HDFS. */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { remoteFiles } from '../../src/fs/index.ts'

const { OARFISH_HDFS } = process.env

describe.skipIf(!OARFISH_HDFS)('HDFS (npm run e2e:hdfs)', { timeout: 60_000 }, () => {
  const files = remoteFiles(`${OARFISH_HDFS ?? 'hdfs://none'}/user/oarfish`, { ugi: 'oarfish,unused' })

  test('a file comes back as it was written, whole and in part', async () => {
    const content = randomBytes(5_000_000)
    await files.write('data/part-0 ä', pieces(content))
    expect(Buffer.concat(await all(files.read('data/part-0 ä'))).equals(content)).toBe(true)
    expect(
      Buffer.from(await files.readRange('data/part-0 ä', 1_000_000, 10)).equals(content.subarray(1_000_000, 1_000_010)),
    ).toBe(true)
    expect(await files.list('data')).toEqual([{ path: 'part-0 ä', bytes: content.length }])
  })

  test('writing again replaces, and folders are listed with all below them', async () => {
    for (const [path, text] of [
      ['tree/b/1', 'one'],
      ['tree/a', 'two'],
      ['tree/a', 'three!'],
      ['tree/b/c/2', ''],
    ] as const)
      await files.write(path, pieces(Buffer.from(text)))
    expect(await files.list('tree')).toEqual([
      { path: 'a', bytes: 6 },
      { path: 'b/1', bytes: 3 },
      { path: 'b/c/2', bytes: 0 },
    ])
    expect(await files.list('tree/a')).toEqual([{ path: '', bytes: 6 }])
  })

  test('what is not there, and what may not be written, is told in a sentence', async () => {
    await expect(files.list('missing')).rejects.toThrow(/missing: there is nothing of that name on HDFS/)
    await expect(all(files.read('missing/file'))).rejects.toThrow(/nothing of that name/)
    const stranger = remoteFiles(`${OARFISH_HDFS}/user/oarfish`, { ugi: 'stranger,x' })
    await expect(stranger.write('secret', pieces(Buffer.from('x')))).rejects.toThrow(/HDFS refused .*Permission denied/)
  })
})

async function* pieces(content: Uint8Array) {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536)
}

async function all(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const found: Uint8Array[] = []
  for await (const piece of content) found.push(piece)
  return found
}
