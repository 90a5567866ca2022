/** @file Yaml that is refused before it costs anything. Each took seconds or minutes, or ended in a stack. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectWithin } from '../../../test/within.testing.ts'
import { loadConfig } from './load.ts'
import { openSource } from './open-source.ts'
import { ConfigError } from './problem.ts'
import { isRunConfigFile, loadBackend, loadRunConfig } from './v1/index.ts'
import { parseYaml, YAML_LIMITS } from './yaml-text.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'yaml-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bomb = (levels: number, width: number) =>
  [
    'a0: &a0 [x]',
    ...Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(width).fill(`*a${i}`)}]`),
  ].join('\n')
const mergeBomb = [
  'm0: &m0 {k0: 1}',
  ...Array.from({ length: 30 }, (_, i) => `m${i + 1}: &m${i + 1} {a: *m${i}, b: *m${i}}`),
].join('\n')

const CASES: readonly (readonly [string, string, RegExp])[] = [
  ['20,000 levels in brackets', `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`, /:1:67 more than 64 levels/],
  ['20,000 levels that never close', '{'.repeat(20_000), /:1:65 more than 64 levels/],
  ['levels of compact lists', `${'- '.repeat(20_000)}x`, /:1:129 more than 64 levels/],
  [
    'levels by indentation',
    Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    /:65:\d+ more than 64 levels/,
  ],
  ['levels in one line', `a: b\nc: ${'d: '.repeat(4000)}`, /:2:\d+ more than 64 levels/],
  ['bytes', 'hyper_parameters:\n  a: !!binary aGk=', /:2:15 !!binary is no kind of setting/],
  ['a set', 'hyper_parameters: {a: !!set {b, c}}', /:1:\d+ !!set is no kind of setting/],
  ['a bomb of aliases', bomb(30, 9), /:\d+:\d+ more than 100000 values when its aliases are followed/],
  ['a bomb of maps', mergeBomb, /:\d+:\d+ more than 100000 values/],
  ['many aliases', `a: &a 1\nb: [${Array(5000).fill('*a')}]`, /:2:\d+ more than 200 aliases such as \*a/],
  ['an alias of what it stands in', 'runner: &r {a: *r}', /:1:16 \*r stands inside of what it names/],
  ['__proto__', 'runner:\n  __proto__: {polluted: 1}', /:2:3 __proto__ cannot be the name of a key/],
  ['"__proto__" in a list', 'runner: [{"__proto__": 1}]', /:1:11 __proto__ cannot be the name of a key/],
  ['constructor', 'constructor: 1\na: 1\nb: 1\nc: 1', /:1:1 constructor cannot be the name of a key/],
]

describe.each([
  ['config.yaml', (path: string) => loadConfig({ path })],
  ['a config of PaddleRec 1.x', (path: string) => loadRunConfig({ path })],
  ['backend.yaml', (path: string) => loadBackend(path)],
])('%s', (name, load) => {
  test.each(CASES)('with %s is refused with its place, soon', async (_what, text, message) => {
    const path = join(folder, `${name.length}.yaml`)
    writeFileSync(path, text)
    const began = performance.now()
    expect(() => load(path)).toThrow(
      expect.objectContaining({ code: 'CONFIG_LIMIT', message: expect.stringMatching(message) }),
    )
    await expectWithin(performance.now() - began, 1000)
  })

  test('of 92 MB, or from a pipe or a device, is refused unread', async () => {
    const path = join(folder, `${name.length}-large.yaml`)
    writeFileSync(path, 'a: 1\n')
    truncateSync(path, 92_000_000)
    const began = performance.now()
    expect(() => load(path)).toThrow(/this yaml has 92000000 bytes, and 262144 are the most/)
    const pipe = join(folder, `${name.length}.pipe`)
    execFileSync('mkfifo', [pipe])
    expect(() => load(pipe)).toThrow(/this is no plain file/)
    expect(() => load('/dev/zero')).toThrow(/this is no plain file/)
    await expectWithin(performance.now() - began, 1000)
  })
})

test('an -o that is a bomb, or that names __proto__, is refused', () => {
  const path = join(folder, 'small.yaml')
  writeFileSync(path, 'runner: {epochs: 1}\n')
  const load = (override: string) => () => loadConfig({ path, overrides: [override] })
  expect(load(`runner.custom=${'['.repeat(60_000)}`)).toThrow(/more than 64 levels/)
  expect(load('__proto__.polluted=1')).toThrow(/__proto__ cannot be the name of a key/)
  expect(load('runner.custom={__proto__: {x: 1}}')).toThrow(/__proto__ cannot be the name of a key/)
  expect(load('hyper_parameters.a=!!binary aGk=')).toThrow(/!!binary is no kind of setting/)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('a broken yaml of the largest size is told in a moment', async () => {
  const path = join(folder, 'broken.yaml')
  const lines = Array.from({ length: 12_000 }, (_, i) => `key_${i}: "x"`)
  lines[6000] = 'key: "open'
  writeFileSync(path, lines.join('\n'))
  const began = performance.now()
  expect(() => loadConfig({ path })).toThrow(/this is not yaml/)
  await expectWithin(performance.now() - began, 5000)
})

/** As large as a yaml may be, and wrong from end to end. */
const LARGE: readonly (readonly [string, string])[] = [
  ['an error a character', `a: ${']'.repeat(240_000)}`],
  ['a line of colons', `a: ${': '.repeat(120_000)}`],
  ['a line of quotes', `a: ${`"'"`.repeat(80_000)}`],
  ['18,000 unknown keys', Array.from({ length: 18_000 }, (_, i) => `k${i}: ${i}`).join('\n')],
  ['a list in place of runners', `runner: [${Array(38_000).fill('a').join(', ')}]`],
  ['more words and commas than are parsed', `runner: [${Array(60_000).fill('a').join(', ')}]`],
  ['a wrong end of every line', 'a: "b\n'.repeat(26_000)],
  ['what stands behind the end', `- a\n${'b: c\n'.repeat(20_000)}`],
  ['a key that never ends', `runner:\n  ? ${'x'.repeat(240_000)}\n  : 1\nmode: 1`],
  ['a value that never ends', `runner:\n  sync_mode: ${'x'.repeat(240_000)}\nmode: ${'y'.repeat(9000)}`],
  [
    '190 aliases among many keys',
    `a: &a 1\n${Array.from({ length: 16_000 }, (_, i) => `k${i}: ${i}`).join('\n')}\nb: [${Array(190).fill('*a')}]`,
  ],
]

test.each(LARGE)('a large yaml with %s is told soon, and in few words', async (_what, text) => {
  const path = join(folder, 'large.yaml')
  writeFileSync(path, text)
  for (const load of [() => loadConfig({ path }), () => loadRunConfig({ path }), () => loadBackend(path)]) {
    const before = process.cpuUsage()
    expect(load).toThrow(ConfigError)
    const { user, system } = process.cpuUsage(before)
    // A third of a second of all threads, the collector's among them; up to three times that on cores that are shared.
    await expectWithin((user + system) / 1000, 1500)
    expect(textOf(load).length).toBeLessThan(300_000)
  }
})

function textOf(load: () => unknown): string {
  try {
    load()
    return ''
  } catch (error) {
    return String(error)
  }
}

test('an alias that is followed more often than the parser would by itself', () => {
  const path = join(folder, 'aliases.yaml')
  writeFileSync(path, `backend: &b MPI\nsubmit: {files: [${Array(150).fill('*b')}]}\n`)
  expect(() => loadBackend(path)).toThrow(ConfigError)
})

test('what real configs do stays as it was: anchors, merge keys, 60 levels', () => {
  const levels = 60
  const { document } = parseYaml(`a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: ${'['.repeat(levels)}1${']'.repeat(levels)}`, {
    merge: true,
  })
  expect(document.toJS()).toMatchObject({ a: { x: 1 }, b: { x: 1, y: 2 } })
  expect(YAML_LIMITS.levels).toBeGreaterThan(levels)
})

test('the form of a config is asked, and then it is read: its text is parsed once', () => {
  const path = join(folder, 'once.yaml')
  writeFileSync(path, 'runner:\n  epochs: 1\n  train_data_dir: "."\n')
  const [first, again] = [openSource(path, path), openSource(path, path)]
  expect(again.document).toBe(first.document)
  expect(isRunConfigFile(path)).toBe(false)
  expect(openSource(path, path, [{ path: ['runner', 'epochs'], value: 2 } as never])).toMatchObject({
    document: first.document,
    overrides: [{ value: 2 }],
  })
  writeFileSync(path, 'runner:\n  epochs: 3\n')
  expect(openSource(path, path).document.toJS()).toEqual({ runner: { epochs: 3 } })
})
