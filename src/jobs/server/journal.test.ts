/** @file Nothing that was promised is lost, wherever a journal is cut off. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournal } from './journal.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('records come back in order', async () => {
  const file = await written([{ a: 1 }, { b: 'zwei\n' }, { c: '三' }])
  const { records, journal } = await openJournal(file)
  expect(records).toEqual([{ a: 1 }, { b: 'zwei\n' }, { c: '三' }])
  await journal.append({ d: 4 })
  await journal.close()
  expect(await recordsOf(file)).toHaveLength(4)
})

test('cut off at any byte it holds the records that were whole, and can be written on', async () => {
  const bytes = readFileSync(await written([{ n: 0 }, { n: 1 }, { n: 2 }]))
  const ends = [...bytes.keys()].filter((i) => bytes[i] === 10).map((i) => i + 1)
  for (let length = 0; length <= bytes.length; length++) {
    const file = join(folder, `cut-${length}`)
    writeFileSync(file, bytes.subarray(0, length))
    const { records, journal } = await openJournal<{ n: number }>(file)
    expect(records).toHaveLength(ends.filter((end) => end <= length).length)
    await journal.append({ n: 9 })
    await journal.close()
    expect((await recordsOf(file)).at(-1)).toEqual({ n: 9 })
  }
})

test('a damaged line in the middle is an error with its number, not a loss', async () => {
  const file = await written([{ n: 0 }, { n: 1 }, { n: 2 }])
  writeFileSync(file, readFileSync(file, 'utf8').replace('"n":1', '"n":7'))
  await expect(openJournal(file)).rejects.toThrow(/line 2 is damaged/)
})

test.runIf(existsSync('/proc/self/fd'))('a journal that is refused is closed', async () => {
  const file = await written([{ n: 0 }, { n: 1 }])
  writeFileSync(file, readFileSync(file, 'utf8').replace('"n":0', '"n":7'))
  await expect(openJournal(file)).rejects.toThrow(/line 1 is damaged/)
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // the one that read the folder
    }
  })
  expect(open).not.toContain(realpathSync(file))
})

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)(
  'a full disk is reported to who writes, and what was there before is whole (needs root: mounts a small disk)',
  async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder])
    try {
      const file = join(folder, 'journal')
      const { journal } = await openJournal<object>(file)
      let kept = 0
      const fill = async () => {
        for (;;) {
          await journal.append({ n: kept, text: 'x'.repeat(1000) })
          kept++
        }
      }
      await expect(fill()).rejects.toMatchObject({ code: 'ENOSPC' })
      await journal.close()
      expect(kept).toBeGreaterThan(3)
      expect(await recordsOf(file)).toHaveLength(kept)
    } finally {
      execFileSync('umount', [folder])
    }
  },
)

async function recordsOf(file: string): Promise<readonly unknown[]> {
  const { records, journal } = await openJournal(file)
  await journal.close()
  return records
}

async function written(records: readonly object[]): Promise<string> {
  const file = join(folder, 'journal')
  const { journal } = await openJournal<object>(file)
  await Promise.all(records.map((record) => journal.append(record)))
  await journal.close()
  return file
}
