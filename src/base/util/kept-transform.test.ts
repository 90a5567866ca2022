/** @file What is kept of transformed files, and when it is made anew. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransformOptions } from 'jiti'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keptTransform } from './kept-transform.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-kept-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function counted(place: string, make = ({ source }: TransformOptions) => source.toUpperCase()) {
  let count = 0
  const transform = keptTransform((options) => {
    count++
    return make(options)
  }, place)
  return { of: (source: string, more = {}) => transform({ source, ...more }).code, count: () => count }
}

test('the same source in another folder, or in another process, is not parsed again', () => {
  const [one, other] = [counted(join(folder, 'new/kept')), counted(join(folder, 'new/kept'))]
  expect(one.of('a', { filename: '/job-1/model.ts' })).toBe('A')
  expect(one.of('a', { filename: '/job-2/model.ts' })).toBe('A')
  expect(other.of('a')).toBe('A')
  expect([one.count(), other.count()]).toEqual([1, 0])
})

test('code that names the folder it lies in is kept for that folder only', () => {
  const { of } = counted(folder, ({ filename }) => `read('${filename}')`)
  const source = 'read(import.meta.filename)'
  const places = ['/job-1/reader.ts', '/job-2/reader.ts', '/job-1/reader.ts']
  expect(places.map((filename) => of(source, { filename }))).toEqual(places.map((place) => `read('${place}')`))
})

test('a changed source and other options are', () => {
  const { of, count } = counted(folder)
  expect([of('a'), of('b'), of('a', { async: true })]).toEqual(['A', 'B', 'A'])
  expect(count()).toBe(3)
})

test('what does not parse is not kept, and a folder that cannot be used does no harm', () => {
  const broken = counted(folder, () => 'exports.__JITI_ERROR__ = {}')
  broken.of('a')
  broken.of('a')
  expect([broken.count(), readdirSync(folder)]).toEqual([2, []])
  writeFileSync(join(folder, 'file'), '')
  expect(counted(join(folder, 'file')).of('a')).toBe('A')
})
