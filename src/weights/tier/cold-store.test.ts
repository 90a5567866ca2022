/** @file The store of cold rows: what was written is found, whatever the order of writes and merges; what is damaged or foreign is refused. */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRng, mix64 } from '../../base/util/index.ts'
import { FAN_OUT } from './cold-store.ts'
import { ColdStore, type ColdStoreOptions } from './index.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'tier-')), 'rows')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

const ROW_BYTES = 24
const options = (changes: Partial<ColdStoreOptions> = {}): ColdStoreOptions => ({
  folder,
  job: 'a job',
  table: 'embedding',
  layout: 'six floats',
  rowBytes: ROW_BYTES,
  flushRows: 5000,
  filterBytes: 1 << 20,
  ...changes,
})

/** Rows that tell their sign and their version. */
function rowsFor(signs: BigUint64Array, version: number): Uint8Array {
  const words = new BigUint64Array((signs.length * ROW_BYTES) / 8)
  for (const [i, sign] of signs.entries()) words.set([sign, BigInt(version), ~sign], 3 * i)
  return new Uint8Array(words.buffer)
}

function collect(store: ColdStore, signs: BigUint64Array): Map<bigint, number> {
  const found = new Map<bigint, number>()
  store.find(signs, (some, rows) => note(found, some, rows))
  return found
}

function note(found: Map<bigint, number>, signs: BigUint64Array, rows: Uint8Array): void {
  const words = new BigUint64Array(rows.slice().buffer)
  for (const [i, sign] of signs.entries()) {
    const isRight = words[3 * i] === sign && words[3 * i + 2] === BigInt.asUintN(64, ~sign) && !found.has(sign)
    if (!isRight) throw new Error(`sign ${sign} has another row, or two`)
    found.set(sign, Number(words[3 * i + 1]))
  }
}

/** Random puts into a store and into a map. */
function fill(store: ColdStore, puts: number, each = 1500, universe = 20_000): Map<bigint, number> {
  const random = createRng(7n)
  const expected = new Map<bigint, number>()
  for (let version = 0; version < puts; version++) {
    const own = new Set<bigint>()
    while (own.size < each) own.add(signOf(random.below(universe)))
    const signs = BigUint64Array.from(own)
    store.put(signs, rowsFor(signs, version))
    for (const sign of signs) expected.set(sign, version)
  }
  return expected
}

test('of rows with the same sign in one put the last counts', async () => {
  const store = new ColdStore(options())
  const signs = BigUint64Array.of(5n, 9n, 5n, 2n, 5n, 9n)
  const rows = rowsFor(signs, 0)
  for (let i = 0; i < signs.length; i++) rows.set(rowsFor(signs.subarray(i, i + 1), i), i * ROW_BYTES)
  expect(store.put(signs, rows)).toBe(3)
  expect(collect(store, BigUint64Array.of(2n, 5n, 9n))).toEqual(
    new Map([
      [2n, 3],
      [5n, 4],
      [9n, 5],
    ]),
  )
  await store.close()
})

/** The ends of the range are among them. */
const signOf = (i: number) => (i === 0 ? 0n : i === 1 ? 2n ** 64n - 1n : BigInt(i) * 0x9e3779b97f4a7c15n) % 2n ** 64n
const all = (universe: number) => BigUint64Array.from({ length: universe }, (_, i) => signOf(i))

test('every row is found as it was last written, over many merges; others are not', async () => {
  const store = new ColdStore(options())
  const expected = fill(store, 90)
  const found = collect(store, all(30_000))
  expect(found.size).toBe(expected.size)
  expect(found).toEqual(expected)
  const scanned = new Map<bigint, number>()
  for (const { signs, rows } of store.scan()) note(scanned, signs, rows)
  expect(scanned).toEqual(expected)
  const { runs, mergedBytes, falsePages, pagesRead } = store.stats
  expect(mergedBytes).toBeGreaterThan(0)
  expect(runs).toBeLessThan(30)
  expect(falsePages / pagesRead).toBeLessThan(0.2)
  await store.close()
})

test('rows are rewritten as a whole, some of them gone', async () => {
  const store = new ColdStore(options())
  const expected = fill(store, 10)
  const kept = [...expected].filter(([sign]) => sign % 3n === 0n).map(([sign]) => sign)
  store.rewrite(({ signs, rows }) => {
    const places = [...signs.keys()].filter((i) => signs[i]! % 3n === 0n)
    const some = BigUint64Array.from(places, (i) => signs[i]!)
    return { signs: some, rows: Buffer.concat(places.map((i) => rows.subarray(i * ROW_BYTES, (i + 1) * ROW_BYTES))) }
  })
  expect([...collect(store, all(20_000)).keys()].sort()).toEqual(kept.sort())
  expect(store.stats.runs).toBe(1)
  store.clear()
  expect(collect(store, all(20_000)).size).toBe(0)
  await store.close()
})

test('rows are rewritten and cleared while a merge is due that makes the next one due', async () => {
  const signs = all(300)
  for (const end of ['rewrite', 'clear'] as const) {
    const store = new ColdStore(options({ folder: `${folder}-${end}` }))
    for (let put = 1; put <= FAN_OUT ** 2; put++) {
      store.put(signs, rowsFor(signs, put))
      if (put < FAN_OUT ** 2) for (const _ of store.scan()); // ends the merges before
    }
    if (end === 'rewrite') store.rewrite((block) => block)
    else store.clear()
    expect(collect(store, signs).size).toBe(end === 'rewrite' ? 300 : 0)
    const later = fill(store, 40, 300)
    expect(collect(store, all(20_000))).toEqual(new Map([...collect(store, signs), ...later]))
    await store.close()
  }
})

test('a folder is opened again with all rows, or begins anew', async () => {
  const store = new ColdStore(options())
  const expected = fill(store, 20)
  await store.close()
  writeFileSync(join(folder, 'run-999.bin'), 'a file that was being written')
  const again = new ColdStore(options({ keep: true }))
  expect(collect(again, all(20_000))).toEqual(expected)
  expect(readdirSync(folder)).not.toContain('run-999.bin')
  await again.close()
  const anew = new ColdStore(options())
  expect(collect(anew, all(20_000)).size).toBe(0)
  expect(readdirSync(folder)).toEqual(['tier.json'])
  await anew.close()
})

test.each([
  ['job', { job: 'another job' }, /belongs to the job of a job/],
  ['table', { table: 'wide' }, /rows of table embedding, not of wide/],
  ['layout', { layout: 'seven floats', rowBytes: 28 }, /another layout/],
] as const)('a folder of another %s is refused, with the reason', async (_, changes, reason) => {
  const store = new ColdStore(options())
  fill(store, 2)
  await store.close()
  expect(() => new ColdStore(options({ ...changes, keep: true }))).toThrow(reason)
  expect(() => new ColdStore(options(changes))).toThrow(reason)
})

test('a folder of another version, or of other things, is refused', async () => {
  await new ColdStore(options()).close()
  writeFileSync(join(folder, 'photo.jpg'), '')
  expect(() => new ColdStore(options())).toThrow(/photo\.jpg, which is no file of a table/)
  rmSync(join(folder, 'photo.jpg'))
  const path = join(folder, 'tier.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"next":0', '"next":1'))
  expect(() => new ColdStore(options())).toThrow(/checksum does not match/)
})

test('a torn page is noticed when it is read, by a search, a scan and a merge', async () => {
  const store = new ColdStore(options())
  fill(store, 1)
  const run = join(folder, readdirSync(folder).find((name) => name.startsWith('run-'))!)
  const file = openSync(run, 'r+')
  writeSync(file, Buffer.alloc(512, 1), 0, 512, 4096 + 1024)
  closeSync(file)
  expect(() => collect(store, all(20_000))).toThrow(
    expect.objectContaining({ code: 'TIER_DAMAGED', message: expect.stringMatching(/page 1 is not what was written/) }),
  )
  expect(() => [...store.scan()]).toThrow(/page 1 is not what was written/)
  await store.close()
})

test('a run that was cut short or altered at its end is refused when it is opened', async () => {
  const store = new ColdStore(options())
  fill(store, 1)
  await store.close()
  const run = join(folder, readdirSync(folder).find((name) => name.startsWith('run-'))!)
  const whole = readFileSync(run)
  truncateSync(run, whole.length - 4096)
  expect(() => new ColdStore(options({ keep: true }))).toThrow(/not written to its end/)
  const altered = Buffer.from(whole)
  altered[whole.length - 4096 - 10]! ^= 1
  writeFileSync(run, altered)
  expect(() => new ColdStore(options({ keep: true }))).toThrow(/checksum of its fences and filter/)
})

/** The inverse of mix64. */
function unmix(hash: bigint): bigint {
  const mask = 2n ** 64n - 1n
  const unshift = (value: bigint, by: bigint) => value ^ (value >> by) ^ (value >> (2n * by))
  let x = unshift(hash, 31n)
  x = unshift((x * 0x319642b2d24d8ec3n) & mask, 27n)
  x = unshift((x * 0x96de1b173f119089n) & mask, 30n)
  return x
}

test('signs whose hashes begin alike are found where they fill several pages', async () => {
  expect(mix64(unmix(12345n))).toBe(12345n)
  const store = new ColdStore(options())
  const alike = BigUint64Array.from({ length: 1000 }, (_, i) => unmix((0x8000_0000n << 32n) | BigInt(i)))
  const signs = BigUint64Array.from([...alike, ...all(3000)])
  store.put(signs, rowsFor(signs, 5))
  expect(collect(store, signs).size).toBe(4000)
  await store.close()
})

test('rows wider than a block are found', async () => {
  const wide = new ColdStore(options({ rowBytes: 6000, flushRows: 200 }))
  const signs = BigUint64Array.from({ length: 150 }, (_, i) => BigInt(i))
  const rows = new Uint8Array(150 * 6000).map((_, i) => i % 251)
  wide.put(signs, rows)
  const got = new Map<bigint, Uint8Array>()
  wide.find(signs, (some, bytes) => {
    for (const [i, sign] of some.entries()) got.set(sign, bytes.slice(i * 6000, (i + 1) * 6000))
  })
  expect(got.size).toBe(150)
  for (const [sign, row] of got)
    expect(Buffer.compare(row, rows.subarray(Number(sign) * 6000, (Number(sign) + 1) * 6000))).toBe(0)
  await wide.close()
})
