import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type RemoteFiles, remoteFiles } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import { sendFile, shareOf, stageData } from './stage.ts'

let folder: string
let files: RemoteFiles
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stage-'))
  files = remoteFiles(`file://${folder}/remote`)
  writeFileSync(join(folder, 'model'), 'weights')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('files are dealt out to nodes; with fewer files than nodes every node has all', () => {
  const all = ['a', 'b', 'c'].map((path) => ({ path, bytes: 1 }))
  expect([0, 1].map((node) => shareOf(all, node, 2).map(({ path }) => path))).toEqual([['a', 'c'], ['b']])
  expect(shareOf(all, 3, 4)).toEqual(all)
})

test('a file whose connection breaks is sent again', async () => {
  let broken = 2
  const breaking: RemoteFiles = {
    ...files,
    write: async (path, content) => {
      if (broken-- > 0) throw new UserError('gone', { code: 'FS_UNREACHABLE' })
      await files.write(path, content)
    },
  }
  await sendFile(breaking, join(folder, 'model'), '/out/model')
  expect(await files.list('/out')).toEqual([{ path: 'model', bytes: 7 }])
  broken = 9
  await expect(sendFile(breaking, join(folder, 'model'), '/out/model')).rejects.toThrow('gone')
})

test('a file that came only in part is noticed', async () => {
  await files.write('/train/part', pieces('0123456789'))
  const short: RemoteFiles = { ...files, read: () => pieces('012345') }
  const options = { data: { train: '/train' }, folder: join(folder, 'node'), node: 0, nodes: 1, say: () => undefined }
  await expect(stageData({ ...options, files: short })).rejects.toThrow('/train/part has 10 bytes, of which 6 came')
})

test('a file that was changed on its way is fetched again', async () => {
  await files.write('/train/part', pieces('0123456789'))
  let damaged = 2
  const read: RemoteFiles['read'] = async function* (path) {
    yield* files.read(path)
    if (damaged-- > 0) throw new UserError('changed', { code: 'FS_CHECKSUM' })
  }
  const options = { data: { train: '/train' }, folder: join(folder, 'node'), node: 0, nodes: 1, say: () => undefined }
  await stageData({ ...options, files: { ...files, read } })
  expect(readFileSync(join(folder, 'node/train_data/part'), 'utf8')).toBe('0123456789')
  damaged = 9
  await expect(stageData({ ...options, files: { ...files, read } })).rejects.toThrow('changed')
})

async function* pieces(text: string) {
  yield Buffer.from(text)
}
