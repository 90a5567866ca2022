/** @file The house rules that a compiler does not know, held against docs/architecture.md. Each rule gives its reason when broken. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const architecture = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

interface Source {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
}

interface Folder {
  readonly rank: number
  readonly name: string
  readonly imports: readonly string[]
}

const RULES = {
  table: 'imports run one way, so that every folder can be read and tested knowing only those before it',
  face: 'a folder has one public face, so that its inside can change without a search through the others',
  env: 'settings are passed in, so that what a function does can be seen from its arguments',
  header: 'the first line of a file says what lives there and what it must not know',
  models:
    "a model is written against the public package, so that copying its folder out is all a user's own model needs",
} as const

const folders = parseTable(architecture)
const sources = ['src', 'assembly', 'models', 'scripts', 'bench'].flatMap(readSources)

test('the import table lists the folders of src/, each importing only lower ranks', () => {
  expect(folders.map(({ name }) => name).sort()).toEqual(foldersOf('src').sort())
  for (const { name, rank, imports } of folders) {
    for (const other of imports) expect(rankOf(other), `${name}/ lists ${other}/`).toBeLessThan(rank)
  }
})

test('every source file keeps the house rules', () => {
  expect(sources.flatMap((source) => violations(source, folders))).toEqual([])
})

test('every dependency is listed with a reason', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const listed = rowsUnder(architecture, 'Dependencies').map(([name, reason]) => [
    name?.replaceAll('`', ''),
    Boolean(reason),
  ])
  const needed = Object.keys({ ...dependencies, ...devDependencies }).map((name) => [name, true])
  expect(listed.sort()).toEqual(needed.sort())
})

test.each([
  ['src/program/x.ts', "import { train } from '../train/index.ts'", 'src/program/x.ts:2 imports ../train/index.ts'],
  [
    'src/program/x.ts',
    "const { train } = await import('../train/index.ts')",
    'src/program/x.ts:2 imports ../train/index.ts',
  ],
  ['src/train/x.ts', "import type { Op } from '../program/op.ts'", 'src/train/x.ts:2 imports ../program/op.ts'],
  ['src/train/x.ts', 'const { HOME } = process.env', 'src/train/x.ts:2 reads process.env'],
  [
    'models/rank/dnn/net.ts',
    "import { x } from '../../../src/index.ts'",
    'models/rank/dnn/net.ts:2 imports ../../../src/index.ts',
  ],
])('a broken rule is found: %s with %s', (path, line, message) => {
  const [found] = violations({ path, text: `/** @file An example. */\n${line}\n` }, folders)
  expect(found).toContain(message)
})

test('a missing header is found', () => {
  expect(violations({ path: 'src/util/x.ts', text: 'export const x = 1\n' }, folders)[0]).toContain(
    'has no @file header',
  )
})

function violations(source: Source, folders: readonly Folder[]): string[] {
  return [...importViolations(source, folders), ...envViolations(source), ...headerViolations(source)]
}

function importViolations(source: Source, folders: readonly Folder[]): string[] {
  return importsOf(source).flatMap(({ specifier, line }) => {
    const broken = (rule: keyof typeof RULES, fix: string) => [
      `${source.path}:${line} imports ${specifier}; ${fix} (${RULES[rule]})`,
    ]
    const target = join(source.path, '..', specifier).replaceAll('\\', '/')
    if (source.path.startsWith('models/')) {
      const own = source.path.slice(0, source.path.lastIndexOf('/') + 1)
      if (!specifier.startsWith('.'))
        return ['oarfish', 'zod'].includes(specifier) ? [] : broken('models', "import from 'oarfish'")
      return target.startsWith(own) ? [] : broken('models', 'import only files of its own folder')
    }
    if (!specifier.startsWith('.')) return []
    const [from, to] = [folderOf(source.path), folderOf(target)]
    if (from === undefined || to === undefined || from === to) return []
    const allowed = folders.find(({ name }) => name === from)?.imports ?? []
    if (to !== 'util' && !allowed.includes(to))
      return broken('table', `${from}/ may import ${['util', ...allowed].join(', ')}`)
    return target === `src/${to}/index.ts` ? [] : broken('face', `import src/${to}/index.ts`)
  })
}

function envViolations({ path, text }: Source): string[] {
  const line = text.slice(0, text.indexOf('process.env')).split('\n').length
  const allowed = !path.startsWith('src/') || path.startsWith('src/cli/') || path === 'src/env/cluster.ts'
  return allowed || !text.includes('process.env')
    ? []
    : [`${path}:${line} reads process.env; take it as an argument (${RULES.env})`]
}

function headerViolations({ path, text }: Source): string[] {
  // AssemblyScript sources begin with a plain comment as often.
  const header = path.startsWith('assembly/') ? /^\/[/*]/ : /^(#!.*\n)?\/\*\*\s*(\*\s*)?@file /
  return header.test(text) ? [] : [`${path} has no @file header; add one (${RULES.header})`]
}

function importsOf({ text }: Source) {
  const pattern = /(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)'([^'\n]+)'/g
  return [...text.matchAll(pattern)].map((match) => ({
    specifier: match[1]!,
    line: text.slice(0, match.index).split('\n').length,
  }))
}

/** The folder of src/ a path is in; undefined for src/index.ts, the public face of all, and for paths elsewhere. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

/** The rows of the import table: rank, folder, what, imports. */
function parseTable(markdown: string): readonly Folder[] {
  const rows = rowsUnder(markdown, 'Folders').map(([rank, name, , imports]) => ({
    rank: Number(rank),
    name: name!.replaceAll(/[`/]/g, ''),
    words: imports!.replaceAll(/[`/]/g, '').split(/,\s*/).filter(Boolean),
  }))
  return rows.map(({ rank, name, words }) => {
    const below = rows.filter((row) => row.rank < rank && row.name !== 'util').map((row) => row.name)
    return { rank, name, imports: words[0] === 'all of lower rank' ? below : words }
  })
}

/** The body rows of the first table under a heading. */
function rowsUnder(markdown: string, heading: string): string[][] {
  const section = markdown.split(/^#+ /m).find((part) => part.startsWith(heading))
  if (!section) throw new Error(`docs/architecture.md has no heading "${heading}".`)
  const lines = section.split('\n')
  const table = lines.slice(lines.findIndex((line) => line.startsWith('|')))
  const rows = table.slice(
    0,
    table.findIndex((line) => !line.startsWith('|')),
  )
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

function rankOf(name: string): number {
  const folder = folders.find((folder) => folder.name === name)
  if (!folder) throw new Error(`docs/architecture.md imports ${name}/, which has no row.`)
  return folder.rank
}

function foldersOf(path: string): string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && readdirSync(join(ROOT, path, entry.name)).length > 0)
    .map((entry) => entry.name)
}

function readSources(folder: string): readonly Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name) && !/\.(test|testing)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(ROOT, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
}
