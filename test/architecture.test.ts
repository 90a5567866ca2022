/** @file The house rules that a compiler does not know, held against docs/internals/architecture.md. Each rule gives its reason when broken. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const architecture = readFileSync(join(ROOT, 'docs/internals/architecture.md'), 'utf8')

interface Source {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** A row of the table: `weights/params`, or `data` where a floor is a single folder. */
interface Folder {
  readonly name: string
  /** Which folders it may import: each lies further down in the table. */
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

/** Pages, settings of tools, and the package. */
const ROOT_FILES =
  /^([A-Z][\w.-]*\.md|LICENSE|\.[\w.-]+|(package(-lock)?|biome|tsconfig(\.\w+)?)\.json|vitest\.config\.ts)$/

const folders = parseTable(architecture)
const sources = ['src', 'assembly', 'models', 'scripts', 'bench'].flatMap(readSources)

test('the import table lists the folders of src/, floor by floor, each importing only those further down', () => {
  expect(folders.map(({ name }) => name).sort()).toEqual(foldersOfSrc().sort())
  const floors = folders.map(({ name }) => floorOf(name))
  expect(
    floors.filter((floor, i) => floor !== floors[i - 1]),
    'rows of a floor stand together',
  ).toEqual([...new Set(floors)])
  for (const [row, { name, imports }] of folders.entries()) {
    for (const other of imports) expect(rowOf(other), `${name}/ lists ${other}/`).toBeGreaterThan(row)
  }
})

test('the root holds what somebody put there: what a tool leaves beside it is told, also once it is committed', () => {
  const inGit = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).stdout ?? ''
  const files = inGit.split('\0').filter((path) => path !== '' && !path.includes('/'))
  expect(files.filter((path) => !ROOT_FILES.test(path))).toEqual([])
})

test('the README lists the floors in the same order', () => {
  const listed = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^\| `src\/([\w-]+)\/`/gm)].map(
    ([, floor]) => floor,
  )
  expect(listed).toEqual([...new Set(folders.map(({ name }) => floorOf(name)))])
})

test('every index.ts says in its first lines what lives there and what it may not know', () => {
  const faces = folders.map(({ name }) => `src/${name}/index.ts`).filter((path) => existsSync(join(ROOT, path)))
  const short = faces.filter(
    (path) => !/^\/\*\*\n \* @file .+\n \* .+\n \*\/\n/.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  expect(short).toEqual([])
})

test('every source file keeps the house rules', () => {
  expect(sources.flatMap((source) => violations(source, folders))).toEqual([])
})

test('every dependency is listed with a reason', () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const listed = rowsUnder(architecture, 'Dependencies').map(([name, reason]) => [
    name?.replaceAll('`', ''),
    Boolean(reason),
  ])
  const needed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }).map((name) => [
    name,
    true,
  ])
  expect(listed.sort()).toEqual(needed.sort())
})

test.each([
  [
    'src/graph/program/x.ts',
    "import { train } from '../../training/driver/index.ts'",
    'src/graph/program/x.ts:2 imports ../../training/driver/index.ts',
  ],
  [
    'src/graph/program/x.ts',
    "const { train } = await import('../../training/driver/index.ts')",
    'src/graph/program/x.ts:2 imports ../../training/driver/index.ts',
  ],
  [
    'src/training/driver/x.ts',
    "import type { Op } from '../../graph/program/op.ts'",
    'src/training/driver/x.ts:2 imports ../../graph/program/op.ts',
  ],
  ['src/graph/program/x.ts', "import { nn } from '../nn/index.ts'", 'src/graph/program/x.ts:2 imports ../nn/index.ts'],
  ['src/data/x.ts', "import '../cli/index.ts'", 'src/data/x.ts:2 imports ../cli/index.ts'],
  ['src/training/driver/x.ts', 'const { HOME } = process.env', 'src/training/driver/x.ts:2 reads process.env'],
  [
    'models/rank/dnn/model.ts',
    "import { x } from '../../../src/index.ts'",
    'models/rank/dnn/model.ts:2 imports ../../../src/index.ts',
  ],
])('a broken rule is found: %s with %s', (path, line, message) => {
  const [found] = violations({ path, text: `/** @file An example. */\n${line}\n` }, folders)
  expect(found).toContain(message)
})

test('a missing header is found', () => {
  expect(violations({ path: 'src/base/util/x.ts', text: 'export const x = 1\n' }, folders)[0]).toContain(
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
      if (specifier.startsWith('node:')) return [] // comes with every copy of the folder
      if (!specifier.startsWith('.'))
        return ['oarfish', 'oarfish/nn', 'zod'].includes(specifier) ? [] : broken('models', "import from 'oarfish'")
      return target.startsWith(own) ? [] : broken('models', 'import only files of its own folder')
    }
    if (!specifier.startsWith('.')) return []
    const [from, to] = [folderOf(source.path), folderOf(target)]
    if (from === undefined || to === undefined || from === to) return []
    const allowed = folders.find(({ name }) => name === from)?.imports ?? []
    if (!allowed.includes(to)) return broken('table', `${from}/ may import ${allowed.join(', ')}`)
    return target === `src/${to}/index.ts` ? [] : broken('face', `import src/${to}/index.ts`)
  })
}

function envViolations({ path, text }: Source): string[] {
  const line = text.slice(0, text.indexOf('process.env')).split('\n').length
  const allowed = !path.startsWith('src/') || path.startsWith('src/cli/') || path === 'src/base/env/cluster.ts'
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
  const [, floor, below] = /^src\/([^/]+)\/(.+)/.exec(path) ?? []
  if (floor === undefined || below === undefined) return undefined
  const names = folders.map(({ name }) => name)
  return names.includes(floor) ? floor : `${floor}/${below.split('/')[0]}`
}

function floorOf(folder: string): string {
  return folder.split('/')[0]!
}

/** The rows of the import table: folder, what, imports. A floor's name stands for all of its folders that lie further down. */
function parseTable(markdown: string): readonly Folder[] {
  const rows = rowsUnder(markdown, 'Folders').map(([name, , imports]) => ({
    name: name!.replaceAll(/`|\/$|\/`$/g, ''),
    words: imports!.replaceAll('`', '').split(/,\s*/).filter(Boolean),
  }))
  return rows.map(({ name, words }, row) => {
    const below = rows.slice(row + 1).map((other) => other.name)
    const named = (word: string) => below.filter((other) => other === word || floorOf(other) === word)
    const imports = words.flatMap((word) =>
      word === 'all below' ? below : named(word).length > 0 ? named(word) : [word],
    )
    return { name, imports }
  })
}

/** The body rows of the first table under a heading. */
function rowsUnder(markdown: string, heading: string): string[][] {
  const section = markdown.split(/^#+ /m).find((part) => part.startsWith(heading))
  if (!section) throw new Error(`docs/internals/architecture.md has no heading "${heading}".`)
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

function rowOf(name: string): number {
  const row = folders.findIndex((folder) => folder.name === name)
  if (row < 0) throw new Error(`docs/internals/architecture.md imports ${name}/, which has no row.`)
  return row
}

/** A floor that has a face or files of its own is one folder; any other holds folders. */
function foldersOfSrc(): string[] {
  const inside = (path: string) => readdirSync(join(ROOT, path), { withFileTypes: true })
  const subfolders = (path: string) =>
    inside(path).filter((entry) => entry.isDirectory() && inside(`${path}/${entry.name}`).length > 0)
  return subfolders('src').flatMap(({ name: floor }) =>
    inside(`src/${floor}`).some((entry) => entry.isFile())
      ? [floor]
      : subfolders(`src/${floor}`).map(({ name }) => `${floor}/${name}`),
  )
}

function readSources(folder: string): readonly Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name) && !/\.(test|testing)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(ROOT, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
}
