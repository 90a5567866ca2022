/** @file A user's files, imported as they are and as copies. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { importUserModule } from './user-code.ts'

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

test.each(['', '/nn', '/fleet', '/fluid', '/trainer'])(
  'a program has every name of oarfish%s, and one copy of each',
  async (subpath) => {
    const file = join(folder, 'program.ts')
    writeFileSync(file, `import * as all from 'oarfish${subpath}'\nexport const own = { ...all }\n`)
    const { own } = await importUserModule<{ own: Record<string, unknown> }>(file)
    const whole = createRequire(import.meta.url)(`../../../dist/${subpath.slice(1) || 'index'}.js`)
    expect(Object.keys(own).toSorted()).toEqual(Object.keys(whole).toSorted())
    for (const [name, value] of Object.entries(own)) expect(value, name).toBe(whole[name])
  },
)

test('names of several subpaths are imported by name', async () => {
  const file = join(folder, 'program.ts')
  writeFileSync(
    file,
    `import { fleet } from 'oarfish/fleet'\nimport { layers } from 'oarfish/fluid'\nimport { linear } from 'oarfish/nn'\nimport { train } from 'oarfish'\nimport { provider } from 'oarfish/trainer'\nexport const kinds = [fleet, layers, linear, train, provider].map((each) => typeof each)\n`,
  )
  const { kinds } = await importUserModule<{ kinds: string[] }>(file)
  expect(kinds).toEqual(['object', 'object', 'function', 'function', 'function'])
})

test('a name that another part of the package has is refused where it is used, with the import to write', async () => {
  const [first, second] = [join(folder, 'first.ts'), join(folder, 'second.ts')]
  writeFileSync(first, `import { nn } from 'oarfish'\nexport const layer = nn.Layer\n`)
  await expect(importUserModule(first)).rejects.toMatchObject({
    message: 'oarfish does not export "nn"; oarfish/nn does',
    hint: "import * as nn from 'oarfish/nn'",
    where: { file: first, line: 2 },
  })
  // Types may be imported with the word `type` or without it: nobody asks for them at run time.
  writeFileSync(second, `import { concat, Event } from 'oarfish'\nexport const use = (_: Event) => concat([])\n`)
  const { use } = await importUserModule<{ use: () => void }>(second)
  expect(use).toThrow('oarfish does not export "concat"; oarfish/nn does')
})
