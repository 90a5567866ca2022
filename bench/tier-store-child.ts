/** @file One store of bench/tier-stores.ts in a process of its own: build, mixed, acknowledge, check. */
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadKoffi } from '../src/base/util/index.ts'
import { ColdStore } from '../src/weights/tier/index.ts'

const [, , root, name, mode, ...numbers] = process.argv as [string, string, string, string, string, ...string[]]
const [rows = 0, more = 0] = numbers.map(Number)
const [ROW_BYTES, GROUP, FLUSH] = [108, 1024, 65_536]
const folder = join(root, `store-${name}`)
const load = createRequire(join(root, 'package.json'))

interface Store {
  /** Rows are on the disk when this resolves, where `sync`. */
  put(signs: BigUint64Array, values: Uint8Array, sync: boolean): Promise<void> | void
  /** How many of the signs were found. */
  get(signs: BigUint64Array): Promise<number> | number
  close(): Promise<void> | void
}

const keyOf = (sign: bigint) => {
  const key = Buffer.allocUnsafe(8)
  key.writeBigUInt64BE(sign)
  return key
}
const valueAt = (values: Uint8Array, i: number) => Buffer.from(values.subarray(i * ROW_BYTES, (i + 1) * ROW_BYTES))

const OPEN: Readonly<Record<string, () => Promise<Store>>> = {
  async runs() {
    const store = new ColdStore({
      folder,
      job: 'bench',
      table: 't',
      layout: 'l',
      rowBytes: ROW_BYTES,
      flushRows: FLUSH,
      filterBytes: 64 << 20,
      keep: true,
      durable: mode === 'acknowledge',
    })
    // A tier writes what falls out of memory in large groups.
    let [waiting, count] = [{ signs: new BigUint64Array(FLUSH), values: new Uint8Array(FLUSH * ROW_BYTES) }, 0]
    const flush = () => {
      if (count > 0) store.put(waiting.signs.subarray(0, count), waiting.values.subarray(0, count * ROW_BYTES))
      count = 0
    }
    const seen = new Set<bigint>()
    return {
      put(signs, values, sync) {
        for (const [i, sign] of signs.entries()) {
          if (seen.has(sign)) continue
          seen.add(sign)
          waiting.signs[count] = sign
          waiting.values.set(values.subarray(i * ROW_BYTES, (i + 1) * ROW_BYTES), count++ * ROW_BYTES)
          if (count === FLUSH) flush()
          if (count === 0) seen.clear()
        }
        if (sync) flush()
        if (count === 0) seen.clear()
      },
      get: (signs) => store.find(signs, () => {}),
      close() {
        flush()
        return store.close()
      },
    }
  },
  async lmdb() {
    const db = load('lmdb').open({
      path: folder,
      encoding: 'binary',
      keyEncoding: 'binary',
      mapSize: 64 * 2 ** 30,
      noSync: mode !== 'acknowledge',
    })
    return {
      put(signs, values) {
        db.transactionSync(() => {
          for (const [i, sign] of signs.entries()) db.putSync(keyOf(sign), valueAt(values, i))
        })
      },
      get: (signs) => signs.reduce((sum, sign) => sum + (db.getBinaryFast(keyOf(sign)) ? 1 : 0), 0),
      close: () => db.close(),
    }
  },
  async level() {
    const db = new (load('classic-level').ClassicLevel)(folder, {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      cacheSize: 64 << 20,
      compression: false,
    })
    await db.open()
    return {
      put: (signs, values, sync) =>
        db.batch(
          Array.from(signs, (sign, i) => ({ type: 'put', key: keyOf(sign), value: valueAt(values, i) })),
          { sync },
        ),
      get: async (signs) => (await db.getMany(Array.from(signs, keyOf))).filter(Boolean).length,
      close: () => db.close(),
    }
  },
  async rocksdb() {
    const RocksDB = load('rocksdb-native')
    const db = new RocksDB(folder)
    await db.ready()
    return {
      async put(signs, values, sync) {
        const batch = db.write()
        const puts = Array.from(signs, (sign, i) => batch.put(keyOf(sign), valueAt(values, i)))
        await batch.flush()
        await Promise.all(puts)
        batch.destroy()
        if (sync) await db.flush()
      },
      async get(signs) {
        const batch = db.read()
        const gets = Array.from(signs, (sign) => batch.get(keyOf(sign)))
        await batch.flush()
        const values = await Promise.all(gets)
        batch.destroy()
        return values.filter(Boolean).length
      },
      close: () => db.close(),
    }
  },
}

// splitmix64: the signs are spread as hashes of ids are.
const signOf = (i: number) => BigInt.asUintN(64, (BigInt(i) + 1n) * 0x9e3779b97f4a7c15n)
const random = (n: number) => Math.floor(Math.random() * n)
const values = new Uint8Array(GROUP * ROW_BYTES).map(() => random(256))
const group = (first: number) =>
  BigUint64Array.from({ length: Math.min(GROUP, rows - first) }, (_, i) => signOf(first + i))
const drawn = () => BigUint64Array.from(new Set(Array.from({ length: GROUP }, () => signOf(random(rows)))))

const io = () => {
  const text = readFileSync('/proc/self/io', 'utf8')
  return (key: string) => Number(new RegExp(`^${key}: (\\d+)`, 'm').exec(text)![1])
}
const filesOf = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Files out of the page cache. */
function forget(): void {
  const advise = loadKoffi().load(null).func('int posix_fadvise(int, long, long, int)')
  for (const path of filesOf()) {
    const file = openSync(path, 'r')
    advise(file, 0, 0, 4)
    closeSync(file)
  }
}

/** Megabytes of the files that are in the page cache. */
function cached(): number {
  const libc = loadKoffi().load(null)
  const mmap = libc.func('void* mmap(void*, size_t, int, int, int, long)')
  const mincore = libc.func('int mincore(void*, size_t, _Out_ uint8_t*)')
  const munmap = libc.func('int munmap(void*, size_t)')
  let pages = 0
  for (const path of filesOf()) {
    const { size } = statSync(path)
    if (size === 0) continue
    const file = openSync(path, 'r')
    const at = mmap(null, size, 1, 1, file, 0)
    const states = new Uint8Array(Math.ceil(size / 4096))
    mincore(at, size, states)
    pages += states.reduce((sum, state) => sum + (state & 1), 0)
    munmap(at, size)
    closeSync(file)
  }
  return (pages * 4096) / 2 ** 20
}

const WORK: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  async build(store) {
    const started = performance.now()
    for (let first = 0; first < rows; first += GROUP) await store.put(group(first), values, false)
    await store.close()
    return (performance.now() - started) / 1000
  },
  async mixed(store) {
    forget()
    const before = io()
    const time = { reads: 0, writes: 0 }
    let [reads, writes] = [0, 0]
    const until = performance.now() + 1000 * more
    while (performance.now() < until) {
      const [asked, written] = [drawn(), drawn()]
      const started = performance.now()
      if ((await store.get(asked)) !== asked.length) throw new Error('a row is missing')
      const between = performance.now()
      await store.put(written, values, false)
      time.reads += between - started
      time.writes += performance.now() - between
      reads += asked.length
      writes += written.length
    }
    const rssMegabytes = process.memoryUsage().rss / 2 ** 20
    const cachedMegabytes = cached()
    await store.close()
    const after = io()
    return JSON.stringify({
      readsPerSecond: reads / (time.reads / 1000),
      writesPerSecond: writes / (time.writes / 1000),
      readAmplification: (after('read_bytes') - before('read_bytes')) / (reads * ROW_BYTES),
      writeAmplification: (after('write_bytes') - before('write_bytes')) / (writes * ROW_BYTES),
      diskBytesPerRow: filesOf().reduce((sum, path) => sum + statSync(path).size, 0) / rows,
      rssMegabytes,
      cachedMegabytes,
    })
  },
  /** Further groups, each acknowledged when it is on the disk. */
  async acknowledge(store) {
    for (let n = 0; ; n++) {
      await store.put(
        BigUint64Array.from({ length: GROUP }, (_, i) => signOf(rows + n * GROUP + i)),
        values,
        true,
      )
      console.log(n)
    }
  },
  async check(store) {
    let missing = 0
    for (let n = 0; n <= more; n++) {
      const signs = BigUint64Array.from({ length: GROUP }, (_, i) => signOf(rows + n * GROUP + i))
      missing += GROUP - (await store.get(signs))
    }
    const seconds = ((performance.now() - opened) / 1000).toFixed(2)
    return `${missing === 0 ? 'all there' : `${missing} of ${(more + 1) * GROUP} rows lost`}, opened and read in ${seconds} s`
  },
}

const opened = performance.now()
console.log(await WORK[mode]!(await OPEN[name]!()))
process.exit(0)
