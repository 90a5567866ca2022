/** @file S3 against a server of its protocol: objects whole and in parts, listed, read, refused. Signatures are tested beside s3.ts. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RemoteFiles, remoteFiles, setFileAccess } from '../../src/base/fs/index.ts'
import { listDataFiles, openReader } from '../../src/data/index.ts'
import { collect, SLOTS } from '../contracts/reader.ts'
import { lacking, type S3Server, s3Server } from './server.testing.ts'

describe.skipIf(lacking)(`S3 ${lacking ?? ''}`, () => {
  let server: S3Server
  let folder: string
  let name: string
  let files: RemoteFiles
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 's3-'))
    server = await s3Server(folder)
    const { port } = await server.run()
    name = `s3://bucket/jobs?endpoint=http://127.0.0.1:${port}&region=us-east-1`
    files = remoteFiles(name, { ugi: 'S3RVER,S3RVER' })
  })
  afterAll(async () => {
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('small objects, empty ones and names that must be encoded', async () => {
    for (const [path, text] of [
      ['out/a b+c(1)', 'one'],
      ['out/ä/x=y&z', 'two'],
      ['out/empty', ''],
    ] as const) {
      await files.write(path, pieces(Buffer.from(text)))
      expect([path, String(await all(files.read(path)))]).toEqual([path, text])
    }
    expect(await files.list('out')).toEqual([
      { path: 'a b+c(1)', bytes: 3 },
      { path: 'empty', bytes: 0 },
      { path: 'ä/x=y&z', bytes: 3 },
    ])
  })

  test('a large object goes up in parts and comes back whole and in ranges', async () => {
    const content = randomBytes(40 << 20)
    await files.write('large', pieces(content))
    expect(await files.list('large')).toEqual([{ path: '', bytes: content.length }])
    expect((await all(files.read('large'))).equals(content)).toBe(true)
    const from = 17 << 20
    expect(Buffer.from(await files.readRange('large', from, 1000)).equals(content.subarray(from, from + 1000))).toBe(
      true,
    )
    const [last] = [content.length - 10]
    expect(Buffer.from(await files.readRange('large', last, 100)).equals(content.subarray(last))).toBe(true)
  })

  test('Parquet is read where it lies: the samples of the same files here, by row groups', async () => {
    const rows = Array.from({ length: 230 }, (_, i) => i)
    const local = mkdtempSync(join(folder, 'table-'))
    const ids = ['click', '1', '2'].map((name, k) => ({
      name,
      data: rows.map((i) => i % (k + 2)),
      type: 'INT32' as const,
    }))
    const values = ['x', 'y', 'z'].map((name, k) => ({
      name,
      data: rows.map((i) => i / 8 + k),
      type: 'FLOAT' as const,
    }))
    const columnData = [...ids, ...values]
    for (const part of ['part-0.parquet', 'part-1.parquet']) {
      const content = new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 50 }))
      writeFileSync(join(local, part), content)
      await files.write(`table/${part}`, pieces(content))
    }
    await files.write('broken/part.parquet', pieces(Buffer.from('no Parquet at all')))
    setFileAccess({ name: name.replace('/jobs?', '?'), ugi: 'S3RVER,S3RVER' })
    const far = await listDataFiles('s3://bucket/jobs/table')
    expect(far).toEqual(['s3://bucket/jobs/table/part-0.parquet', 's3://bucket/jobs/table/part-1.parquet'])
    const [there, here] = [await samplesOf(far), await samplesOf(await listDataFiles(local))]
    expect([there.length, there]).toEqual([460, here])
    expect(there[7]).toEqual([[1n], [1n], [3n], [0.875, 1.875, 2.875]])
    await expect(listDataFiles('s3://bucket/jobs/broken')).rejects.toMatchObject({ code: 'DATA_PARQUET' })
  })

  test('an unknown key and a bucket that is not there are told', async () => {
    const by = (ugi: string) => remoteFiles(name, { ugi }).list('out')
    await expect(by('nobody,S3RVER')).rejects.toMatchObject({ code: 'FS_FORBIDDEN' })
    const other = remoteFiles(name.replace('bucket', 'other'), { ugi: 'S3RVER,S3RVER' })
    await expect(other.list('out')).rejects.toMatchObject({ code: 'FS_NOT_FOUND' })
    await expect(files.list('nothing')).rejects.toMatchObject({ code: 'FS_NOT_FOUND' })
  })
})

async function* pieces(content: Uint8Array) {
  for (let at = 0; at < content.length; at += 1 << 20) yield content.subarray(at, at + (1 << 20))
}

async function all(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  for await (const piece of content) found.push(piece)
  return Buffer.concat(found)
}

async function samplesOf(files: readonly string[]) {
  const columns = { columns: { dense_feature: ['x', 'y', 'z'] } }
  const options = { slots: SLOTS, threads: 2, batchSize: 32, epoch: 0, table: 'parquet', columns } as const
  return (await collect(openReader({ files, ...options }))).flatMap(({ samples }) => samples)
}
