/** @file One writer a folder: who is refused, whose lock is taken over, and what a late writer learns. */
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { processPlace, processStart } from '../util/index.ts'
import { type FolderOwner, folderOwner, type HoldOptions, holdFolder, LOCK_FILES } from './folder-lock.ts'

const OPTIONS: HoldOptions = { kind: 'model', key: 'runner.model_save_path', hint: 'elsewhere' }
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folder-lock-'))
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

test('the second is refused and told whose the folder is; after the release it gets it, with a larger number', async () => {
  const first = await holdFolder(folder, { ...OPTIONS, command: 'oarfish train', job: 'j1' })
  await expect(holdFolder(folder, OPTIONS)).rejects.toMatchObject({
    code: 'FOLDER_BUSY',
    message: expect.stringMatching(
      new RegExp(
        `another job writes into ${folder}: process ${process.pid} on .+ \\(oarfish train, job j1\\) since 20`,
      ),
    ),
  })
  const logs = await holdFolder(folder, { ...OPTIONS, kind: 'log' })
  first.check()
  first.release()
  logs.release()
  const second = await holdFolder(folder, OPTIONS)
  expect(second.fence).toBeGreaterThan(first.fence)
  second.release()
  expect(readdirSync(folder)).toEqual([])
})

test('of a process that is gone, or whose number another has now, it is taken over at once', async () => {
  const gone = await goneProcess()
  for (const owner of [
    { pid: gone, start: 'x' },
    { pid: process.pid, start: 'another start' },
  ]) {
    write({ ...owner, fence: 9e15 })
    const lock = await holdFolder(folder, OPTIONS)
    expect(lock.fence).toBe(9e15 + 1)
    lock.release()
  }
  writeFileSync(join(folder, LOCK_FILES.model), '{"half')
  ;(await holdFolder(folder, OPTIONS)).release()
})

test('of six processes that find a dead owner at once one gets it', async () => {
  write({ pid: await goneProcess() })
  const script = `import { holdFolder } from ${JSON.stringify(new URL('./folder-lock.ts', import.meta.url).href)}
    await holdFolder(process.argv[1], ${JSON.stringify(OPTIONS)}).then(() => console.log('mine'), (e) => console.log(e.code))
    process.stdin.resume()`
  const run = `const { createJiti } = require(${JSON.stringify(join(process.cwd(), 'node_modules/jiti'))});
    createJiti(${JSON.stringify(import.meta.url)}).evalModule(${JSON.stringify(script)}, { async: true, forceTranspile: true, filename: ${JSON.stringify(join(process.cwd(), 'lock-race.ts'))} })`
  const children = Array.from({ length: 6 }, () => spawn(process.execPath, ['-e', run, folder]))
  const said = await Promise.all(
    children.map(
      (child) =>
        new Promise<string>((done) => {
          child.stderr.on('data', (text) => done(String(text)))
          child.stdout.on('data', (text) => done(String(text).trim()))
        }),
    ),
  )
  for (const child of children) child.kill('SIGKILL')
  expect(said.sort()).toEqual([...Array(5).fill('FOLDER_BUSY'), 'mine'])
})

test('an owner on another host is watched: one that touches its lock is alive, one that does not for a minute is not', async () => {
  vi.useFakeTimers()
  const elsewhere = { pid: 1, host: 'far', place: 'far away', job: 'theirs' }
  const path = write(elsewhere)
  const told: string[] = []
  const options = { ...OPTIONS, onWait: (message: string) => void told.push(message) }
  const refused = expect(holdFolder(folder, options)).rejects.toThrow(/process 1 on far \(job theirs\)/)
  await vi.advanceTimersByTimeAsync(5000)
  utimesSync(path, new Date(), new Date(Date.now() + 1000))
  await vi.advanceTimersByTimeAsync(1000)
  await refused
  expect(told).toEqual([expect.stringMatching(/locked by process 1 on far .* watched for 60 s/)])
  const taken = holdFolder(folder, options)
  await vi.advanceTimersByTimeAsync(61_000)
  ;(await taken).release()
  // Of the same job, which was moved here; and one that was silent for ten minutes before anybody looked.
  write(elsewhere)
  ;(await holdFolder(folder, { ...OPTIONS, job: 'theirs' })).release()
  utimesSync(write(elsewhere), new Date(0), new Date(0))
  ;(await holdFolder(folder, OPTIONS)).release()
})

test.each([
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ['a link that leads nowhere', (path: string) => symlinkSync('/nowhere/x', path)],
])('%s in the place of the lock, or of its guard, makes room', async (_what, make) => {
  const path = join(folder, LOCK_FILES.model)
  make(path)
  make(`${path}.takeover`)
  const held = await holdFolder(folder, OPTIONS)
  held.check()
  held.release()
})

test('a folder in the place of the lock is told, and stays', async () => {
  mkdirSync(join(folder, LOCK_FILES.model))
  await expect(holdFolder(folder, OPTIONS)).rejects.toMatchObject({
    code: 'FOLDER_BUSY',
    message: expect.stringContaining('whose lock cannot be read'),
  })
})

test('processes of one job share a folder that they are to share', async () => {
  const shared = { ...OPTIONS, job: 'one', isShared: true }
  const first = await holdFolder(folder, shared)
  const second = await holdFolder(folder, shared)
  second.release()
  first.check()
  await expect(holdFolder(folder, { ...shared, job: 'two' })).rejects.toMatchObject({ code: 'FOLDER_BUSY' })
  first.release()
})

test('who was taken over learns it before it writes, and leaves the lock of the next alone', async () => {
  const lock = await holdFolder(folder, OPTIONS)
  write({ pid: 1, host: 'far', place: 'far away', fence: lock.fence + 1 })
  expect(() => lock.check()).toThrow(
    expect.objectContaining({ code: 'FOLDER_LOST', message: expect.stringContaining('process 1 on far') }),
  )
  lock.release()
  expect(folderOwner(folder, 'model')?.host).toBe('far')
  rmSync(join(folder, LOCK_FILES.model))
  expect(() => lock.check()).toThrow(/was removed/)
})

test('a guard that a killed process left does not keep others out', async () => {
  write({ pid: await goneProcess() })
  const guard = join(folder, `${LOCK_FILES.model}.takeover`)
  writeFileSync(guard, '')
  utimesSync(guard, new Date(0), new Date(0))
  const lock = await holdFolder(folder, OPTIONS)
  expect(existsSync(guard)).toBe(false)
  expect(JSON.parse(readFileSync(join(folder, LOCK_FILES.model), 'utf8'))).toMatchObject({ pid: process.pid })
  lock.release()
})

function write(owner: Partial<FolderOwner>): string {
  const path = join(folder, LOCK_FILES.model)
  const start = processStart(process.pid)
  const whole = {
    pid: 1,
    start,
    host: 'here',
    place: processPlace(),
    since: new Date().toISOString(),
    fence: 1,
    ...owner,
  }
  writeFileSync(path, JSON.stringify(whole))
  return path
}

async function goneProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await new Promise((done) => child.once('exit', done))
  return child.pid!
}
