/** @file Which oarfish a rank of mpirun is: the one of this very version, wherever it lies, or none. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lackingNode, rankWords } from './mpi-package.ts'

let home: string
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'mpi-package-'))
  for (const [folder, version] of [
    ['old', '0.0.1'],
    ['new', '2.0.0'],
    ['home/.oarfish/bin', '2.0.0'],
  ] as const) {
    mkdirSync(join(home, folder), { recursive: true })
    const script = `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\necho ${folder} "$@" by $(oarfish --version)\n`
    writeFileSync(join(home, folder, 'oarfish'), script, { mode: 0o755 })
  }
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** What the rank prints, on a node with these folders on its PATH. */
function rank(folders: readonly string[], own = 'home'): string {
  const [program, ...words] = rankWords(['oarfish', 'cloud', 'node'], '2.0.0')
  const env = {
    HOME: join(home, own),
    PATH: [...folders.map((folder) => join(home, folder)), '/usr/bin:/bin'].join(':'),
  }
  return spawnSync(program!, words, { env, encoding: 'utf8' }).stdout.trim()
}

test.each([
  [['new'], 'home', 'new cloud node by 2.0.0'],
  [['old'], 'home', 'home/.oarfish/bin cloud node by 2.0.0'],
  [[], 'home', 'home/.oarfish/bin cloud node by 2.0.0'],
])('PATH %j and home %s: %s, and processes of the job find the same', (folders, own, printed) => {
  expect(rank(folders, own)).toBe(printed)
})

test('a node that has another version alone, or none, says that it lacks it', () => {
  for (const folders of [['old'], []]) expect(lackingNode(rank(folders, 'nowhere'))?.length).toBeGreaterThan(0)
})
