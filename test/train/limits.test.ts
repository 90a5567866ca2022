/** @file What is no data, and what the system does not give: each told as what it is, soon, with exit code 2. */
import { execFileSync, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownName } from '../../src/base/util/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { tinyFolder } from './tiny.testing.ts'

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await tinyFolder(160)
})
afterEach(async () => await rm(folder, { recursive: true, force: true }))

const train = (...more: readonly string[]) => oarfish(['train', '-m', 'config.yaml', ...more], folder)
const data = (name: string) => join(folder, 'data/train', name)

describe('data', () => {
  test.each([
    ['a named pipe', 'a named pipe', (path: string) => void execFileSync('mkfifo', [path])],
    ['/dev/zero', 'a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('%s among the files is named, whatever else is there', async (_what, kind, make) => {
    make(data('part-9'))
    const { code, err } = await train()
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`part-9 The data file cannot be read: this is ${kind}, not a file`),
    ])
  })

  test('a line of 100 MB, and one of 600 MB in a gzip file, are refused in a moment, with file and line', async () => {
    await writeLine(createWriteStream(data('part-9')), 100)
    let began = performance.now()
    const plain = await train()
    expect([plain.code, plain.err]).toEqual([2, expect.stringMatching(/part-9:2 This line is longer than 16 MiB/)])
    await expectWithin(performance.now() - began, 15_000)
    await rm(data('part-9'))
    const packed = createGzip({ level: 1 })
    const written = pipeline(packed, createWriteStream(data('part-9.gz')))
    await writeLine(packed, 600)
    await written
    began = performance.now()
    const gzip = await train()
    expect([gzip.code, gzip.err]).toEqual([2, expect.stringMatching(/part-9.gz:2 This line is longer than 16 MiB/)])
    await expectWithin(performance.now() - began, 15_000)
  })

  test('a label of 7 is named where the loss takes labels from 0 to 1, before it reaches a weight', async () => {
    await appendFile(data('part-1'), 'click:7 user:4 x:0.1 x:0.2\n')
    const { code, err } = await train()
    expect([code, err]).toEqual([2, expect.stringMatching(/A label click is 7; this loss takes labels from 0 to 1/)])
    expect(err).toContain("grep -nE '(^| )click:7( |$)'")
  })
})

test('a label of 7 where there are two classes is named, and not the learning rate', async () => {
  const dnn = fileURLToPath(new URL('../../models/rank/dnn', import.meta.url))
  const [line] = readFileSync(join(dnn, 'data/sample_data/train/part-000'), 'utf8').split('\n')
  const seven = await mkdtemp(join(folder, 'seven-'))
  await writeFile(join(seven, 'part-0'), `${line}\n${line!.replace(/^click:\d/, 'click:7')}\n`)
  const overrides = [`runner.train_data_dir=${seven}`, `runner.test_data_dir=${seven}`, 'runner.model_save_path=']
  const { code, err } = await oarfish(['train', '-m', join(dnn, 'config.yaml'), '-o', ...overrides], folder)
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/A label click is 7; this loss takes labels from 0 to 1\. It is sample 1 of batch 0/),
  ])
  expect(err).not.toContain('learning_rate')
})

test('64 open files: the limit is named, and how to raise it', async () => {
  const shell = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, BIN, 'train', '-m', 'config.yaml']
  const child = spawn('bash', shell, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  child.stderr.on('data', (piece) => (text += piece))
  const code = await new Promise((done) => child.once('close', done))
  expect([code, text]).toEqual([
    2,
    expect.stringContaining('This process may have 64 files and sockets open at a time'),
  ])
  expect(text).toContain('ulimit -n 65536')
})

test('oarfish reader takes no line without an end', async () => {
  const text = `import { MultiSlotDataGenerator } from 'oarfish'
export class Reader extends MultiSlotDataGenerator { *generateSample() { yield [['click', [0]]] } }`
  await writeFile(join(folder, 'endless.ts'), text)
  const child = spawn('bash', ['-c', '"$0" "$@" < /dev/zero', process.execPath, BIN, 'reader', 'endless.ts'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 60_000)
  let said = ''
  child.stderr.on('data', (piece) => (said += piece))
  const code = await new Promise((done) => child.once('close', done))
  clearTimeout(timer)
  expect([code, said]).toEqual([2, expect.stringContaining('This line is longer than 16 MiB')])
})

test('what a killed process left in the temporary folder goes with the next training, launched or not', async () => {
  const gone = spawn('true')
  await new Promise((done) => gone.once('exit', done))
  const left = join(tmpdir(), ownName('gloo').replace(`-${process.pid}-`, `-${gone.pid}-`))
  mkdirSync(left)
  expect((await train()).code).toBe(0)
  expect(existsSync(left)).toBe(false)
})

/** One good line, then one of so many megabytes. */
async function writeLine(to: NodeJS.WritableStream, megabytes: number): Promise<void> {
  const piece = Buffer.from('user:7 '.repeat(150_000)).subarray(0, 1e6)
  const pieces = function* () {
    yield 'click:1 user:4 x:0.1 x:0.2\nclick:1 x:0.1 x:0.2 '
    for (let i = 0; i < megabytes; i++) yield piece
    yield '\n'
  }
  await pipeline(Readable.from(pieces()), to)
}
