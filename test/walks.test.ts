/** @file docs/internals/walks.md is true: every file of a walk imports the next one, or sends it the message that the page names. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Stop {
  readonly path: string
  /** The file it is reached from, where that is not the one before it. */
  readonly from: string | undefined
  /** What both files name, where it is reached by a message and not by an import. */
  readonly sends: string | undefined
}

const walks = parseWalks(read('docs/internals/walks.md'))

test.each([
  ['A sample, from text to a local weight', 20, 8],
  ["A sample, from text to a server's weight (async)", 30, Number.POSITIVE_INFINITY],
])('%s: at most %d files in %d folders', (title, files, folders) => {
  const walk = walks.get(title)!
  expect(walk.length).toBeGreaterThan(5)
  expect(new Set(walk.map(({ path }) => path)).size, 'no file twice').toBe(walk.length)
  expect(walk.length).toBeLessThanOrEqual(files)
  expect(new Set(walk.map(({ path }) => dirname(path))).size).toBeLessThanOrEqual(folders)
})

test.each([...walks])('%s: each file is reached from one before it', (_, walk) => {
  const broken = walk.flatMap(({ path, from, sends }, i) => {
    const before = walk.slice(0, i).map((stop) => stop.path)
    if (i === 0) return []
    const source = from ?? before.at(-1)!
    return before.includes(source) && leadsTo(source, path, sends) ? [] : [`${source} -> ${path}`]
  })
  expect(broken).toEqual([])
})

function leadsTo(from: string, to: string, sends: string | undefined): boolean {
  if (sends !== undefined) return [from, to].every((file) => new RegExp(`\\b${sends}\\b`).test(read(file)))
  return importsOf(from).some(({ target, names }) => {
    if (target === to) return true
    // By way of the face of its folder: one of the names is the other file's own.
    const isFace = target.endsWith('/index.ts') && dirname(to).startsWith(dirname(target))
    return isFace && names.some((name) => exportsName(to, name))
  })
}

function importsOf(path: string) {
  const pattern = /(?:import|export)\s+(?:type\s+)?([^'"]*?)\s*from\s+'(\.[^']+)'/g
  return [...read(path).matchAll(pattern)].map(([, names, specifier]) => ({
    target: join(dirname(path), specifier!).replaceAll('\\', '/'),
    names: [...names!.matchAll(/[\w$]+/g)].map(([name]) => name),
  }))
}

function exportsName(path: string, name: string): boolean {
  return new RegExp(`^export (?:async |abstract )?(?:function\\*?|class|const|interface|type) ${name}\\b`, 'm').test(
    read(path),
  )
}

/** By heading: the numbered list under it. */
function parseWalks(markdown: string): ReadonlyMap<string, readonly Stop[]> {
  const sections = markdown.split(/^## /m).slice(1)
  return new Map(
    sections.map((section) => {
      const stops = [...section.matchAll(/^\d+\. `(src\/[^`]+)`(?: \(from `([^`]+)`\))?(?: \(sends `(\w+)`\))?/gm)]
      return [section.split('\n')[0]!.trim(), stops.map(([, path, from, sends]) => ({ path: path!, from, sends }))]
    }),
  )
}
