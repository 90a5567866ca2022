/** @file `oarfish completion` in real shells: words are completed as a person would see them. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installed } from '../scripts/apt.mjs'
import { capture } from '../src/cli/capture.testing.ts'

const missing: readonly string[] = installed({ bash: 'bash', zsh: 'zsh', fish: 'fish' })

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-completion-'))
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, `oarfish.${shell}`), (await capture(['completion', shell])).out)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shell = async (name: string, script: string) => {
  const { stdout } = await promisify(execFile)(name, ['-c', script], {
    cwd: folder,
    timeout: 60_000,
    env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm' },
  })
  return stdout.split(/\s+/).filter(Boolean)
}

test('another shell is told which there are', async () => {
  expect(await capture(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('expected bash | zsh | fish'),
  })
})

describe.skipIf(missing.includes('bash'))('bash', () => {
  const complete = (...words: string[]) =>
    shell(
      'bash',
      `source oarfish.bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _oarfish; echo "\${COMPREPLY[@]}"`,
    )
  test('commands, options and subcommands', async () => {
    expect(await complete('oarfish', 'tra')).toEqual(['train', 'trainer'])
    expect(await complete('oarfish', 'train', '--de')).toEqual(['--debug-nan'])
    expect(await complete('oarfish', 'model', 'su')).toEqual(['summary'])
    expect(await complete('oarfish', 'check', '--q')).toEqual(['--quiet'])
    expect(await complete('oarfish', 'cluster-')).toEqual([])
  })
})

describe.skipIf(missing.includes('fish'))('fish', () => {
  const complete = (line: string) => shell('fish', `source oarfish.fish; complete -C '${line}'`)
  test('commands, options and subcommands', async () => {
    expect(await complete('oarfish tra')).toEqual(expect.arrayContaining(['train', 'trainer']))
    expect(await complete('oarfish train --de')).toContain('--debug-nan')
    expect(await complete('oarfish model su')).toContain('summary')
  })
})

describe.skipIf(missing.includes('zsh'))('zsh', () => {
  /** Its completion system is called as it calls: what would be offered is printed. */
  const complete = (...words: string[]) =>
    shell(
      'zsh',
      `compdef() {}; _files() {}; _describe() { print -r -- \${(P)2} }; compadd() { shift; print -r -- \${(M)@:#$PREFIX*} }
source ./oarfish.zsh; words=(${words.join(' ')}); CURRENT=${words.length}; PREFIX=${words.at(-1)}; _oarfish`,
    )
  test('commands, options and subcommands', async () => {
    expect((await complete('oarfish', 'comple')).join(' ')).toMatch(/completion:Print what completes/)
    expect(await complete('oarfish', 'train', '--de')).toEqual(['--debug-nan'])
    expect(await complete('oarfish', 'model', 'su')).toEqual(['summary'])
  })
  test('is registered with compinit', async () => {
    const script = 'autoload -U compinit; compinit -u -D; source ./oarfish.zsh; print -r -- $_comps[oarfish]'
    expect(await shell('zsh', script)).toEqual(['_oarfish'])
  })
})
