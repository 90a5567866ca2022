/** @file A user's files, imported as they are and as copies. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { importUserModule } from './user-module.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-user-module-'))
  vi.stubEnv('HOME', folder) // where the JavaScript of users' files is kept
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

test('a copy of a model reads what lies beside the copy', async () => {
  const [first, copy] = [join(folder, 'first'), join(folder, 'copy')]
  mkdirSync(first)
  writeFileSync(
    join(first, 'reader.ts'),
    `export const dict: string = new URL('dict.txt', import.meta.url).pathname\nexport const place: string = import.meta.dirname\n`,
  )
  cpSync(first, copy, { recursive: true })
  for (const place of [first, copy, first])
    expect(await importUserModule(join(place, 'reader.ts'))).toMatchObject({ dict: join(place, 'dict.txt'), place })
})
