/** @file A user's files, imported as they are and as copies. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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

test('a program has every name of the package, and one copy of each', async () => {
  const file = join(folder, 'program.ts')
  writeFileSync(
    file,
    `import { fleet, nn, train } from 'oarfish'\nimport * as all from 'oarfish'\nexport const some = { fleet, nn, train }\nexport const names = Object.keys(all)\n`,
  )
  const { some, names } = await importUserModule<{ some: object; names: string[] }>(file)
  const whole = createRequire(import.meta.url)('../../dist/index.js')
  expect(names.toSorted()).toEqual(Object.keys(whole).toSorted())
  expect(some).toEqual({ fleet: whole.fleet, nn: whole.nn, train: whole.train })
})
