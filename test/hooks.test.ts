/** @file The hook that `npm run hooks` installs: the real one, with the real tools, over a package of two files. */
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const at = (...path: string[]) => join(ROOT, ...path)
const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { scripts: Record<string, string> }

describe('npm run hooks', () => {
  let folder: string
  const git = (...args: string[]) =>
    promisify(execFile)('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
      cwd: folder,
      env: CLEAN,
    })
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oarfish-hooks-'))
    for (const name of ['.githooks', '.gitignore', 'biome.json', 'package.json', 'package-lock.json', 'scripts'])
      cpSync(at(name), join(folder, name), { recursive: true })
    chmodSync(join(folder, '.githooks/pre-commit'), 0o755)
    symlinkSync(at('node_modules'), join(folder, 'node_modules'))
    mkdirSync(join(folder, 'src'))
    write(
      'tsconfig.json',
      JSON.stringify({
        compilerOptions: { strict: true, noEmit: true, module: 'nodenext', types: [] },
        include: ['src'],
      }),
    )
    write(
      'vitest.config.mjs',
      `export default { test: { include: process.env.OARFISH_SET === 'fast' ? ['src/*.test.mjs'] : [] } }\n`,
    )
    write('src/b.ts', 'export const b = 1\n')
    write('src/x.test.mjs', SUM_TEST('3'))
    await git('init', '-q')
    const [, command] = /^git (.*)$/.exec(scripts['hooks']!)!
    await git(...command!.split(' '))
    await git('add', '.')
    await git('commit', '-q', '--no-verify', '-m', 'Begin')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each([
    ['format', 'src/a.ts', 'export const a   = 1\n', /x format: failed[\s\S]*npm run format/],
    ['types', 'src/a.ts', "export const a: number = 'one'\n", /\+ format: ok[\s\S]*x types: failed/],
    ['tests', 'src/x.test.mjs', '', /\+ types: ok[\s\S]*x fast tests: failed/],
  ])('refuses a commit whose %s are wrong, and says so', { timeout: 120_000 }, async (_, name, text, said) => {
    write(name, text || SUM_TEST('4'))
    await git('add', '.')
    const refused = await git('commit', '-q', '-m', 'Wrong').then(
      () => undefined,
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    )
    expect(refused).toMatch(said)
    expect(refused).toContain('git commit --no-verify')
    await git('reset', '-q', '--hard')
  })

  test('lets a good commit through', { timeout: 120_000 }, async () => {
    write('src/a.ts', 'export const a = 1\n')
    await git('add', '.')
    await git('commit', '-q', '-m', 'Good')
    expect((await git('log', '--format=%s')).stdout).toBe('Good\nBegin\n')
  })
})

const SUM_TEST = (sum: string) =>
  `import { expect, test } from 'vitest'\n\ntest('sum', () => {\n  expect(1 + 2).toBe(${sum})\n})\n`
/** These tests may run inside a hook themselves. */
const CLEAN = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
