/** @file Documents lead somewhere: every link and every page that code names exists, and the index lists every page. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const isThere = (path: string) => existsSync(join(ROOT, path))

// Also what is not committed yet; not what git ignores.
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && isThere(path))
const pages = files.filter((path) => path.endsWith('.md'))
const sources = files.filter(
  (path) => /\.(ts|mjs|js|py|yaml|sh|md|json)$/.test(path) && !path.startsWith('test/fixtures/'),
)

test('every relative link leads to a file, and its anchor to a heading', () => {
  expect(pages.length).toBeGreaterThan(40)
  expect(pages.flatMap((page) => deadLinks(page, read(page)))).toEqual([])
})

test.each([
  ['[x](nowhere.md)', 'docs/a.md links to nowhere.md'],
  ['[x](../README.md#no-such-heading)', 'docs/a.md links to ../README.md#no-such-heading'],
])('a dead link is found: %s', (text, message) => {
  expect(deadLinks('docs/a.md', text)).toEqual([message])
})

test('a link in a block of code is none', () => {
  expect(deadLinks('docs/a.md', '```\n[x](nowhere.md)\n```\n`[x](y)`')).toEqual([])
})

test('the samples of features.md have every field of its model: the server refuses others', () => {
  const page = read('docs/guide/features.md')
  const model = /```ts\n(inputs:[\s\S]*?)```/.exec(page)![1]!
  const fields = [...model.matchAll(/(?:sparse|dense)\('(\w+)'/g)].map(([, name]) => name!)
  const [request] = JSON.parse(/`(\{"instances".*?\})`/.exec(page)![1]!).instances
  const sample = /predictor\.score\(\[\{(.*?)\}\]\)/.exec(page)![1]!
  expect(fields).toContain('seen')
  expect(Object.keys(request).sort()).toEqual([...fields].sort())
  expect([...sample.matchAll(/(\w+):/g)].map(([, name]) => name!).sort()).toEqual([...fields].sort())
})

test('every page under docs/ that a source, message or document names is there', () => {
  const named = sources.flatMap((path) =>
    [...read(path).matchAll(/(?<![\w-])docs\/[\w./-]+?\.md\b/g)].map(([page]) => `${path} names ${page}`),
  )
  expect(named.length).toBeGreaterThan(50)
  const own = 'test/docs.test.ts names docs/a.md'
  expect(named.filter((line) => line !== own && !isThere(line.split(' names ')[1]!))).toEqual([])
})

test('docs/README.md lists every page, under the heading of its folder', () => {
  const sections = read('docs/README.md').split(/^## /m).slice(1)
  const folders = readdirSync(join(ROOT, 'docs'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'images')
    .map(({ name }) => name)
  expect(sections.map((section) => section.split('\n')[0]!.toLowerCase())).toEqual(['guide', 'reference', 'internals'])
  expect(folders.sort()).toEqual(['guide', 'internals', 'reference'])
  for (const section of sections) {
    const folder = section.split('\n')[0]!.toLowerCase()
    const linked = new Set([...section.matchAll(/\]\(([\w-]+\/[^)#]+)/g)].map(([, target]) => partOf(target!)))
    const there = new Set(
      pages.filter((page) => page.startsWith(`docs/${folder}/`)).map((page) => partOf(page.slice('docs/'.length))),
    )
    expect([...linked].sort()).toEqual([...there].sort())
  }
})

/** A page of a group, or a folder of pages in it, which is listed once. */
function partOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

function deadLinks(page: string, markdown: string): string[] {
  return [...proseOf(markdown).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)].flatMap(([, target]) => {
    const [path, anchor] = target!.split('#') as [string, string | undefined]
    const file = path === '' ? page : join(dirname(page), path)
    const found =
      (path === '' || isThere(file)) && (anchor === undefined || anchorsOf(file, page, markdown).has(anchor))
    return found ? [] : [`${page} links to ${target}`]
  })
}

function anchorsOf(file: string, page: string, markdown: string): Set<string> {
  const text = file === page ? markdown : read(file)
  return new Set([...proseOf(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!)))
}

/** As GitHub makes it of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Without blocks and pieces of code, where brackets mean something else; code in a heading stays a part of it. */
function proseOf(markdown: string): string {
  const lines = markdown.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n')
  return lines.map((line) => (line.startsWith('#') ? line : line.replaceAll(/`[^`\n]*`(?!\])/g, ''))).join('\n')
}
