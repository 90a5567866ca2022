/** @file Two jobs with one model_save_path: the second is refused, a dead owner is replaced, a late one writes nothing more. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { folderOwner, LOCK_FILES } from '../../src/base/fs/index.ts'
import { oarfish } from '../oarfish.testing.ts'
import { TRAIN_ONLY, tinyFolder, trainTiny } from './tiny.testing.ts'

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
let folder: string
let running: ChildProcess | undefined
beforeEach(async () => {
  folder = await tinyFolder(320)
})
afterEach(async () => {
  await kill()
  await rm(folder, { recursive: true, force: true })
})

const SAVES = ['-o', 'runner.model_save_path=out']
const fenceOf = (epoch: number) => JSON.parse(readFileSync(join(folder, `out/${epoch}/manifest.json`), 'utf8')).fence

test('the second job is refused and told whose the folder is; killed, its owner is replaced by --resume, with a larger number', async () => {
  await longJob()
  const second = await oarfish(['train', '-m', TRAIN_ONLY, ...SAVES], folder)
  expect([second.code, second.err]).toEqual([
    2,
    expect.stringContaining(
      `another job writes into out: process ${running!.pid} on ${hostname()}`.replace(
        'out:',
        `${join(folder, 'out')}:`,
      ),
    ),
  ])
  expect(second.err).toContain('-o runner.model_save_path=')
  const before = fenceOf(0)
  expect(before).toBeGreaterThan(0)
  const last = Math.max(...savedEpochs())
  await kill()
  const again = await oarfish(
    ['train', '-m', TRAIN_ONLY, '--resume', ...SAVES, '-o', `runner.epochs=${last + 3}`],
    folder,
  )
  expect([again.code, again.err]).toEqual([0, ''])
  expect(fenceOf(last + 2)).toBeGreaterThan(before)
  expect(readdirSync(join(folder, 'out')).filter((name) => name.startsWith('.'))).toEqual([])
})

test('one job after the other saves in the same folder, and the lock is gone in between', async () => {
  for (let run = 0; run < 2; run++) {
    await trainTiny(folder, [`runner.model_save_path=${join(folder, 'out')}`])
    expect(folderOwner(join(folder, 'out'), 'model')).toBeUndefined()
  }
})

test('a job whose folder was taken over ends before it overwrites a checkpoint', async () => {
  const out = join(folder, 'out')
  const lock = join(out, LOCK_FILES.model)
  const emitted: string[] = []
  const failed = trainTiny(folder, [`runner.model_save_path=${out}`, 'runner.epochs=3'], {
    emit: (event) => {
      emitted.push(event.kind)
      if (event.kind !== 'epochStart' || event.epoch !== 1) return
      const owner = JSON.parse(readFileSync(lock, 'utf8'))
      writeFileSync(lock, JSON.stringify({ ...owner, host: 'another', fence: owner.fence + 1 }))
    },
  })
  await expect(failed).rejects.toMatchObject({ code: 'FOLDER_LOST', message: expect.stringContaining('on another') })
  expect(savedEpochs()).toEqual([0])
  expect(folderOwner(out, 'model')?.host).toBe('another')
})

test('a folder that would be replaced and holds other things is refused before anything is trained', async () => {
  mkdirSync(join(folder, 'out/1'), { recursive: true })
  writeFileSync(join(folder, 'out/1/notes.txt'), 'mine')
  const out = join(folder, 'out')
  await expect(trainTiny(folder, [`runner.model_save_path=${out}`, 'runner.epochs=2'])).rejects.toMatchObject({
    code: 'SNAPSHOT_REPLACE',
    message: expect.stringContaining(`${join(out, '1')} holds something other than a checkpoint`),
  })
  expect([readdirSync(out), readFileSync(join(out, '1/notes.txt'), 'utf8')]).toEqual([['1'], 'mine'])
})

test('a checkpoint of an earlier version, without a number, is resumed from', async () => {
  const out = join(folder, 'out')
  await trainTiny(folder, [`runner.model_save_path=${out}`])
  const manifest = join(out, '0/manifest.json')
  const { crc32: _, fence: __, ...rest } = JSON.parse(readFileSync(manifest, 'utf8'))
  const { manifestText } = await import('../../src/weights/snapshot/manifest.ts')
  writeFileSync(manifest, manifestText(rest))
  const { result } = await trainTiny(folder, [`runner.model_save_path=${out}`, 'runner.epochs=2'], { resume: true })
  expect(result.interrupted).toBe(false)
  expect(savedEpochs()).toEqual([0, 1])
  expect(fenceOf(1)).toBeGreaterThan(0)
})

const savedEpochs = () =>
  readdirSync(join(folder, 'out'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort()

/** One that saves its first epoch and goes on for long. */
async function longJob(): Promise<void> {
  const child = spawn(process.execPath, [BIN, 'train', '-m', TRAIN_ONLY, ...SAVES, '-o', 'runner.epochs=100000'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running = child
  await new Promise<void>((done, fail) => {
    const timer = setTimeout(() => fail(new Error('it saved nothing')), 120_000)
    let text = ''
    const onText = (piece: Buffer) => {
      text += piece
      if (!/save model|saved/i.test(text)) return
      clearTimeout(timer)
      done()
    }
    child.stdout!.on('data', onText)
    child.stderr!.on('data', onText)
    child.once('exit', (code) => fail(new Error(`it ended with ${code}: ${text}`)))
  })
}

async function kill(): Promise<void> {
  const child = running
  running = undefined
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await gone
}
