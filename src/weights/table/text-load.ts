/** @file Loads a table from the text files of Paddle's servers, of PaddlePaddle itself or our own. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { gunzipFile, localFiles } from '../../base/fs/index.ts'
import { weightBytes } from '../../base/kernel/index.ts'
import type { OptimizerSpec } from '../optim/index.ts'
import type { SparseTable } from './table.ts'
import {
  ambiguous,
  badLine,
  damagedPart,
  noTable,
  otherShards,
  partMissing,
  tableFolder,
  twice,
  wrongShard,
} from './text-errors.ts'
import { accessorLayout, lineValues, type TextLayout } from './text-layout.ts'
import { LineParser } from './text-number.ts'
import { fittingLayouts, rowFiller } from './text-rows.ts'
import type { ShardRange } from './text-save.ts'

export interface LoadTextOptions {
  readonly folder: string
  readonly number: number
  readonly table: SparseTable
  readonly optimizer: OptimizerSpec
  /** Steps made so far: what a row that remembers its last update is given. @default 0 */
  readonly steps?: number
  /** This server's shards. @default all there are */
  readonly range?: Pick<ShardRange, 'first' | 'count' | 'shards'>
  /** Rows loaded so far, and the share of the bytes read. */
  readonly onRows?: (rows: number, fraction: number) => void
}

const BLOCK_ROWS = 4096

/** Loads this server's shards over what the table holds; returns the rows. No thread may train meanwhile. */
export async function loadTableText(options: LoadTextOptions): Promise<number> {
  const { folder, number, table, optimizer, onRows } = options
  const into = join(folder, tableFolder(number))
  const files = await shardFiles(folder, number)
  const shards = files.length
  if (options.range && options.range.shards !== shards) throw otherShards(into, shards, options.range.shards)
  const { first, count } = options.range ?? { first: 0, count: shards }
  const own = files.slice(first, first + count)
  const total = own.reduce((sum, path) => sum + localFiles.size(path), 0)
  const rows = new RowBlock(table, optimizer, options.steps ?? 0)
  let bytes = 0
  for (const [i, path] of own.entries()) {
    await readLines(path, (block, start, end, line) =>
      rows.add(block, start, end, { path, line, shard: first + i, shards }),
    )
    bytes += localFiles.size(path)
    onRows?.(rows.count, total === 0 ? 1 : bytes / total)
    await setImmediate()
  }
  rows.flush()
  return rows.count
}

/** Part files by shard; every shard must have one. */
export async function shardFiles(folder: string, number: number): Promise<readonly string[]> {
  const into = join(folder, tableFolder(number))
  const names = await readdir(into).catch((): string[] => [])
  const found = new Map<number, string>()
  for (const name of names) {
    const part = /^part-\d+-(\d+)(\.gz)?$/.exec(name)
    if (!part) continue
    const shard = Number(part[1])
    if (found.has(shard)) throw twice(into, shard)
    found.set(shard, join(into, name))
  }
  if (found.size === 0) throw noTable(folder, number)
  const count = Math.max(...found.keys()) + 1
  const all = Array.from({ length: count }, (_, shard) => shard)
  const missing = all.filter((shard) => !found.has(shard))
  if (missing.length > 0) throw partMissing(into, missing, count)
  return all.map((shard) => found.get(shard)!)
}

type OnLine = (block: Uint8Array, start: number, end: number, line: number) => void

/** Calls `onLine` for each line; a line may lie across blocks. */
export async function readLines(path: string, onLine: OnLine): Promise<void> {
  let [rest, line] = [new Uint8Array(0), 0]
  try {
    for await (const data of blocksOf(path)) {
      const block = rest.length === 0 ? data : Buffer.concat([rest, data])
      let start = 0
      for (let end = block.indexOf(10); end >= 0; end = block.indexOf(10, start)) {
        onLine(block, start, end, ++line)
        start = end + 1
      }
      rest = block.slice(start)
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code?.startsWith('Z_') ? damagedPart(path, error) : error
  }
  if (rest.length > 0) onLine(rest, 0, rest.length, line + 1)
}

const READ_BYTES = 1024 * 1024

async function* blocksOf(path: string): AsyncGenerator<Uint8Array> {
  if (path.endsWith('.gz')) {
    if (localFiles.size(path) === 0) return
    for await (const { data } of gunzipFile(localFiles, path)) yield data
    return
  }
  const file = await localFiles.open(path)
  const block = new Uint8Array(READ_BYTES)
  try {
    for (let position = 0; ; ) {
      const got = await file.read(block, position)
      if (got === 0) return
      position += got
      yield block.subarray(0, got)
    }
  } finally {
    await file.close()
  }
}

interface Place {
  readonly path: string
  readonly line: number
  readonly shard: number
  readonly shards: number
}

/** Rows on their way into a table, some thousand at a time. */
class RowBlock {
  count = 0
  readonly #table: SparseTable
  readonly #optimizer: OptimizerSpec
  readonly #signs = new BigUint64Array(BLOCK_ROWS)
  readonly #halves = new Uint32Array(this.#signs.buffer)
  readonly #rows: Float32Array
  readonly #fresh: Float32Array
  readonly #floats: number
  readonly #parser: LineParser
  #fill: ReturnType<typeof rowFiller> | undefined
  #layout: TextLayout | undefined
  #used = 0

  constructor(table: SparseTable, optimizer: OptimizerSpec, steps: number) {
    this.#table = table
    this.#optimizer = optimizer
    this.#floats = table.rowBytes / 4
    this.#rows = new Float32Array(BLOCK_ROWS * this.#floats)
    this.#fresh = freshRow(table, steps)
    // No rule has more than three values a weight.
    this.#parser = new LineParser(16 + 4 * table.dim)
  }

  add(block: Uint8Array, start: number, end: number, { path, line, shard, shards }: Place): void {
    const parser = this.#parser
    if (!parser.parse(block, start, end)) return
    if (parser.count < 0) throw badLine(path, line, 'it is not a sign and numbers')
    const row = this.#rows.subarray(this.#used * this.#floats, (this.#used + 1) * this.#floats)
    row.set(this.#fresh)
    this.#fill ??= this.#filler(path)
    if (!this.#fill(parser.values, parser.count, row)) throw badLine(path, line, this.#expected())
    const [low, high] = [parser.sign[0]!, parser.sign[1]!]
    if (((high % shards) * (2 ** 32 % shards) + (low % shards)) % shards !== shard)
      throw wrongShard(path, line, (BigInt(high) << 32n) | BigInt(low), shard, shards)
    this.#halves[2 * this.#used] = low
    this.#halves[2 * this.#used + 1] = high
    this.count++
    if (++this.#used === BLOCK_ROWS) this.flush()
  }

  flush(): void {
    if (this.#used === 0) return
    const bytes = new Uint8Array(this.#rows.buffer, 0, 4 * this.#used * this.#floats)
    this.#table.load(this.#signs.subarray(0, this.#used), bytes)
    this.#used = 0
  }

  #filler(path: string): ReturnType<typeof rowFiller> {
    const { count } = this.#parser
    if (this.#table.accessor) this.#layout = accessorLayout(this.#table.accessor)
    else {
      const [layout, ...others] = fittingLayouts(this.#table, this.#optimizer, count)
      const rules = () => [layout!, ...others].map(({ text }) => text)
      if (others.length > 0) throw ambiguous(path, rules(), count)
      if (!layout) throw badLine(path, 1, `no rule gives rows of dim ${this.#table.dim} ${count} values`)
      this.#layout = layout
    }
    return rowFiller(this.#table, this.#layout)
  }

  #expected(): string {
    const layout = this.#layout!
    const [short, long] = [layout.head.length, lineValues(layout)]
    const counts = short === long ? `${long}` : `${short} or ${long}`
    return `it has ${this.#parser.count} values where ${layout.text} has ${counts}`
  }
}

/** A row as it is before anything is known of it: the state of an optimizer that has made no step. */
function freshRow({ accessor, rule, dim, rowBytes, precision }: SparseTable, steps: number): Float32Array {
  const row = new Float32Array(rowBytes / 4)
  const statesAt = weightBytes(dim, precision) / 4
  if (!accessor && rule.states > 0) row.fill(rule.stateInit, statesAt, statesAt + dim)
  if (!accessor && rule.clocked) new Uint32Array(row.buffer)[row.length - 1] = steps
  return row
}
