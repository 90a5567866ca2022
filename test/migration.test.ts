/** @file The page for those who come from PaddlePaddle: the same in both languages, and nothing of the five documents left out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const GUIDE = fileURLToPath(new URL('../docs/guide', import.meta.url))
const english = readFileSync(join(GUIDE, 'migration.md'), 'utf8')
const chinese = readFileSync(join(GUIDE, 'migration.zh-CN.md'), 'utf8')
const { OARFISH_SEEDS } = process.env

test('both have the same code blocks', () => {
  const blocks = (text: string) => [...text.matchAll(/^```[\s\S]*?^```/gm)].map(([block]) => block)
  expect(blocks(chinese)).toEqual(blocks(english))
  expect(blocks(english).length).toBeGreaterThan(5)
})

test('files of this package that its commands name are there, in the folder to which they went before', () => {
  const root = join(GUIDE, '../..')
  const [, ...after] = english.split(/^## (?=[45]\. )/m)
  let seen = 0
  for (const [, block] of after.join('').matchAll(/^```sh\n([\s\S]*?)^```/gm)) {
    let folder = root
    for (const line of block!.trimEnd().split('\n')) {
      const [, to] = /^cd (\S+)$/.exec(line) ?? []
      folder = join(folder, to ?? '')
      if (to !== undefined) continue
      const named = [...line.matchAll(/(?:^sh |[ =])((?:\.\/|deploy\/|examples\/)[\w./-]+|\w+\.sh)/g)].map(
        ([, path]) => path!,
      )
      for (const path of named.filter((name) => name !== './output')) {
        expect([line, existsSync(join(folder, path))]).toEqual([line, true])
        seen++
      }
    }
  }
  expect(seen).toBeGreaterThan(7)
})

test('both have the same headings and rows, and name the same things in each row', () => {
  const rows = (text: string) => text.split('\n').filter((line) => /^(?:#|\|)/.test(line))
  expect(rows(chinese).length).toBe(rows(english).length)
  const named = (row: string) => [...row.matchAll(/`[^`]+`/g)].map(([code]) => code).sort()
  for (const [i, row] of rows(english).entries()) expect(named(rows(chinese)[i]!), row).toEqual(named(row))
})

test.each(Object.entries(headings(english)))('the link to %s leads to a heading', (_, anchor) => {
  expect(english.match(/^## .*$/gm)!.map(anchorOf)).toContain(anchor)
})

test.skipIf(!OARFISH_SEEDS)('every command of the five documents has its row', () => {
  const commands = readdirSync(OARFISH_SEEDS!).flatMap((file) =>
    readFileSync(join(OARFISH_SEEDS!, file), 'utf8')
      .split('\n')
      .flatMap(
        (line) =>
          /^\s*((?:python -m|fleetrun|sh|kubectl|pip install|wget|python setup\.py) .*?)\s*$/.exec(line)?.[1] ?? [],
      ),
  )
  expect(commands.length).toBeGreaterThan(15)
  // The program and what it is told first; paths and lists are the reader's own.
  const head = (command: string) =>
    command.split(/\s+/).slice(0, 3).join(' ').replace(/=.*/, '').replace('https://paddlerec.bj.bcebos.com/whl', '...')
  for (const command of new Set(commands.map(head))) expect(english, command).toContain(command)
})

test.skipIf(!OARFISH_SEEDS)("every file of the demo's workspace has its row", () => {
  const seed = readdirSync(OARFISH_SEEDS!).find((file) => file.startsWith('003'))!
  const tree = /```\n\.\n([\s\S]*?)```/.exec(readFileSync(join(OARFISH_SEEDS!, seed), 'utf8'))![1]!
  const files = [...tree.matchAll(/[|`]-- (\S+)/g)].map(([, name]) => name!)
  expect(files.length).toBeGreaterThan(18)
  for (const name of files) expect(english, name).toContain(name)
})

function headings(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/\[([^\]]+)\]\(#([^)]+)\)/g)].map(([, title, anchor]) => [title!, anchor!]),
  )
}

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading
    .slice(3)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-')
}
