/** @file What threads load: each starts from scratch, so a package that one does not need is time lost at every start. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))

test.each([
  ['data/reader-thread', ['hyparquet']],
  ['trainer/provider-dataset', []],
  ['ps/shard-thread', []],
  ['collective/thread', []],
  ['train/trainer-thread', ['@bufbuild/protobuf/wire', 'hyparquet', 'onnxruntime-node']],
  ['describe', ['hyparquet', 'zod']],
  ['cli/main', ['commander']],
])('%s loads the packages %j', (entry, packages) => {
  expect([...loadedBy(`${entry}.js`)].toSorted()).toEqual(packages)
})

test('files lie as deep as their sources, since they hold the same relative paths', () => {
  const files = readdirSync(DIST, { recursive: true }).map(String)
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => file.replaceAll('\\', '/'))
  expect(scripts.filter((file) => !/^(index|describe2?|rolldown-runtime|[\w-]+\/[\w-]+)\.js$/.test(file))).toEqual([])
})

/** The packages that a file of dist/ imports before it runs, by way of others too. */
function loadedBy(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return new Set()
  seen.add(file)
  const text = readFileSync(join(DIST, file), 'utf8')
  const names = [...text.matchAll(/^(?:import|export) (?:[^;]*? from )?"([^"]+)"/gm)].map(([, name]) => name!)
  return new Set(
    names
      .filter((name) => !name.startsWith('node:'))
      .flatMap((name) => (name.startsWith('.') ? [...loadedBy(join(dirname(file), name), seen)] : [name])),
  )
}
