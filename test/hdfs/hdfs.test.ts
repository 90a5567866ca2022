/**
 * @file The HDFS file system and readers on it. `npm run e2e:hdfs` starts a real HDFS, sets OARFISH_HDFS and, with --record, writes down what it
 * answered; without one the same tests run on these answers.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RemoteFiles, remoteFiles } from '../../src/base/fs/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { openTape, type Tape } from './tape.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const TAPE = at('test/hdfs/answers.json')
const { OARFISH_HDFS, OARFISH_HDFS_RECORD } = process.env

let tape: Tape
let files: RemoteFiles
let folder: string
beforeAll(async () => {
  tape = await openTape(TAPE, { live: OARFISH_HDFS, record: OARFISH_HDFS_RECORD === '1' })
  files = remoteFiles(`${tape.url}/user/oarfish`, { ugi: 'oarfish,unused' })
})
afterAll(async () => await tape.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hdfs-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a file comes back as it was written, whole and in part', async () => {
  const content = bytesOf(80_000)
  await files.write('data/part-0 ä', pieces(content))
  expect(Buffer.concat(await all(files.read('data/part-0 ä'))).equals(content)).toBe(true)
  const part = await files.readRange('data/part-0 ä', 50_000, 10)
  expect(Buffer.from(part).equals(content.subarray(50_000, 50_010))).toBe(true)
  expect(await files.list('data')).toEqual([{ path: 'part-0 ä', bytes: content.length }])
})

test('what breaks off is read on from there', async () => {
  const content = bytesOf(40_000)
  await files.write('broken', pieces(content))
  // Half of what is left comes each time; on tape are the places at which the real one was asked to go on.
  tape.breakOff(2)
  expect(Buffer.concat(await all(files.read('broken'))).equals(content)).toBe(true)
  tape.breakOff(1)
  expect(Buffer.from(await files.readRange('broken', 10, 20_000)).equals(content.subarray(10, 20_010))).toBe(true)
})

test('what was changed on its way is found by its checksum, and nothing of it stays', async () => {
  const content = bytesOf(60_000)
  tape.damage()
  await expect(files.write('sums/one', pieces(content))).rejects.toMatchObject({ code: 'FS_CHECKSUM' })
  await expect(files.list('sums/one')).rejects.toMatchObject({ code: 'FS_NOT_FOUND' })
  await files.write('sums/one', pieces(content))
  expect(await files.list('sums')).toEqual([{ path: 'one', bytes: content.length }])
})

test('what was changed on its way back is found by its checksum, and comes whole the next time', async () => {
  const content = bytesOf(60_000)
  await files.write('sums/back', pieces(content))
  tape.damageRead()
  await expect(all(files.read('sums/back'))).rejects.toThrow('sums/back: what came is not what HDFS has.')
  expect(Buffer.concat(await all(files.read('sums/back'))).equals(content)).toBe(true)
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
  const stranger = remoteFiles(`${tape.url}/user/oarfish`, { ugi: 'stranger,x' })
  await expect(stranger.write('secret', pieces(Buffer.from('x')))).rejects.toThrow(/HDFS refused .*Permission denied/)
})

test('a delegation token is sent in place of a user', async () => {
  const url = `${tape.url.replace('hdfs:', 'http:')}/webhdfs/v1/?op=GETDELEGATIONTOKEN&user.name=oarfish&renewer=oarfish`
  const { Token } = (await (await fetch(url)).json()) as { Token: { urlString: string } }
  await files.write('token/one', pieces(Buffer.from('1')))
  const own = remoteFiles(`${tape.url}/user/oarfish`, { ugi: `token:${Token.urlString}` })
  expect(await own.list('token')).toEqual([{ path: 'one', bytes: 1 }])
  expect(tape.asked().at(-1)).toBe('GET /webhdfs/v1/user/oarfish/token?delegation=TOKEN&op=LISTSTATUS')
})

test('afs:// is read as hdfs://', async () => {
  await files.write('afs/one', pieces(Buffer.from('1')))
  const afs = remoteFiles(tape.url.replace('hdfs:', 'afs:'), { ugi: 'oarfish,unused' })
  expect(await afs.list('/user/oarfish/afs')).toEqual([{ path: 'one', bytes: 1 }])
})

test('training reads hdfs:// as it reads a folder: plain, gzip, through a pipe_command, in PaddleRec 1.x', {
  timeout: 240_000,
}, async () => {
  const [local, remote] = [join(folder, 'train'), `${tape.url}/user/oarfish/train`]
  cpSync(at('models/rank/dnn'), folder, { recursive: true, filter: (path) => !path.includes('/data') })
  mkdirSync(local)
  for (const [part, lines] of [
    ['part-0', sampleLines('part-000', 100)],
    ['part-1.gz', sampleLines('part-001', 60)],
  ] as const) {
    const content = part.endsWith('.gz') ? gzipSync(lines) : Buffer.from(lines)
    writeFileSync(join(local, part), content)
    await files.write(`train/${part}`, pieces(content))
  }
  await files.write('train/_SUCCESS', pieces(Buffer.from('')))
  for (const more of [[], await pipe()]) {
    const [here, there] = [await train(local, more), await train(remote, more)]
    expect(there).toEqual({ code: 0, err: here.err, digest: here.digest })
    expect(there.digest).toMatch(/^[0-9a-f]{64}$/)
  }
  const [here, there] = [await runV1(local), await runV1(remote)]
  expect([there.code, there.lines]).toEqual([0, here.lines])
  expect(there.lines.length).toBeGreaterThan(3)
  const missing = await train(`${tape.url}/user/oarfish/none`, [])
  expect(missing.code).toBe(2)
  expect(missing.err).toMatch(/runner\.(train|test)_data_dir: /) // both are missing, and looked for at once
  expect(missing.err).toContain('there is nothing of that name on HDFS')
})

async function train(data: string, more: readonly string[]) {
  const dirs = [`runner.train_data_dir=${data}`, `runner.test_data_dir=${data}`]
  const overrides = ['runner.epochs=1', 'runner.fs_ugi=oarfish', 'runner.model_save_path=', ...dirs, ...more]
  const { code, out, err } = await oarfish(['train', '-m', 'config.yaml', '--digest', '-o', ...overrides], folder)
  return { code, err, digest: /[0-9a-f]{64}/.exec(out)?.[0] }
}

/** Slot text to MultiSlot, as a reader of the user's own does it. */
async function pipe(): Promise<readonly string[]> {
  const program = `{ c = ""; s = ""; d = ""; n = 0
  for (i = 1; i <= NF; i++) { split($i, a, ":")
    if (a[1] == "click") c = "1 " a[2]; else if (a[1] == "dense_feature") { d = d " " a[2]; n++ } else s = s " 1 " a[2] }
  print c s " " n d }`
  writeFileSync(join(folder, 'reader.sh'), `awk '${program}'\n`)
  return ['runner.reader_type=QueueDataset', 'runner.pipe_command=sh reader.sh']
}

/** PaddleRec 1.x: what it prints of metrics. */
async function runV1(data: string) {
  const slots = `click ${Array.from({ length: 26 }, (_, i) => i + 1).join(' ')}`
  const config = `workspace: "./"
mode: [one]
runner:
- {name: one, class: train, epochs: 1, device: cpu, print_interval: 1, phases: [phase1]}
dataset:
- {name: d, batch_size: 32, type: DataLoader, data_path: "${data}", sparse_slots: "${slots}", dense_slots: "dense_feature:13"}
phase:
- {name: phase1, model: "{workspace}/model.ts", dataset_name: d, thread_num: 1}
`
  writeFileSync(join(folder, 'v1.yaml'), config)
  const { code, out, err } = await oarfish(['run', '-m', 'v1.yaml'], folder)
  const lines = `${out}${err}`.split('\n').flatMap((line) => /AUC: .*|auc.*/i.exec(line)?.[0] ?? [])
  return { code, lines: lines.map((line) => line.replace(/,? *(speed|time|cost).*/i, '')), text: out + err }
}

const sampleLines = (part: string, count: number) =>
  `${readFileSync(at(`models/rank/dnn/data/sample_data/train/${part}`), 'utf8')
    .split('\n')
    .slice(0, count)
    .join('\n')}\n`

/** The same each time, as the tape needs it. */
function bytesOf(length: number): Buffer {
  let state = 1
  return Buffer.from({ length, 0: 0 } as never).map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  }) as Buffer
}

async function* pieces(content: Uint8Array) {
  for (let from = 0; from < content.length; from += 65_536) yield content.subarray(from, from + 65_536)
}

async function all(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const found: Uint8Array[] = []
  for await (const piece of content) found.push(piece)
  return found
}
