/** @file What threads load: each starts from scratch, so a package that one does not need is time lost at every start. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const DIST = fileURLToPath(new URL('../dist', import.meta.url))

test.each([
  ['data/reader-thread', ['hyparquet']],
  ['paddle/paddle-v1/provider-dataset', []],
  ['training/ps/shard-thread', []],
  ['training/collective/thread', []],
  ['training/threads/trainer-thread', ['@bufbuild/protobuf/wire', 'hyparquet', 'onnxruntime-node']],
  ['describe', ['hyparquet', 'zod']],
  ['index', ['hyparquet', 'yaml', 'zod']],
  ['nn', []],
  ['trainer', []],
  ['cli/main', ['commander']],
])('%s loads the packages %j', (entry, packages) => {
  expect([...loadedBy(`${entry}.js`)].toSorted()).toEqual(packages)
})

test('files lie as deep as their sources, since they hold the same relative paths', () => {
  const files = readdirSync(DIST, { recursive: true }).map(String)
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => file.replaceAll('\\', '/'))
  expect(
    scripts.filter(
      (file) =>
        !/^((index|describe|nn|fleet|fluid|trainer)2?|rolldown-runtime|([\w-]+\/){1,2}[\w-]+|training\/online\/stream\/[\w-]+)\.js$/.test(
          file,
        ),
    ),
  ).toEqual([])
})

test('one piece alone knows where the files of the package are, so that folders can move', () => {
  const files = readdirSync(SRC, { recursive: true }).map(String)
  const sources = files.filter((file) => file.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(file))
  const counting = sources.filter((file) => /new URL\([^)]*import\.meta/.test(readFileSync(join(SRC, file), 'utf8')))
  expect(counting).toEqual([])
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
