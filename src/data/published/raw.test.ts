import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { convertRows } from './raw.ts'

test('what was stopped goes on after the last note, with every row once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-raw-'))
  try {
    const [file, out] = [join(folder, 'rows'), join(folder, 'out')]
    await writeFile(file, Array.from({ length: 9 }, (_, i) => `${i + 1}\n`).join(''))
    const seen: number[] = []
    const run = (stopAt: number) =>
      convertRows(
        { from: folder, out },
        file,
        { columns: 1 },
        ({ columns, place }) => {
          if (place.line === stopAt) throw new Error('stopped')
          seen.push(place.line)
          return { part: place.line % 3 === 0 ? 'test' : 'train', text: columns[0]! }
        },
        2,
      )
    await expect(run(6)).rejects.toThrow('stopped')
    expect(await run(0)).toEqual({ trainRows: 6, testRows: 3 })
    expect(seen).toEqual([1, 2, 3, 4, 5, 5, 6, 7, 8, 9])
    const rows = async (part: string) => {
      const names = (await readdir(join(out, part))).sort()
      return (await Promise.all(names.map((name) => readFile(join(out, part, name), 'utf8')))).join('')
    }
    expect(await rows('train')).toBe('1\n2\n4\n5\n7\n8\n')
    expect(await rows('test')).toBe('3\n6\n9\n')
    expect((await readdir(out)).sort()).toEqual(['test', 'train'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
