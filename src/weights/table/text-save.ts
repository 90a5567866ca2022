/** @file Saves a table as the text files that Paddle's servers write: one file a shard, `part-{server}-{shard}[.gz]`. */
import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { accessorRow, HAS_EMBEDX } from '../../base/kernel/index.ts'
import { mix64 } from '../../base/util/index.ts'
import type { OptimizerSpec } from '../optim/index.ts'
import type { SaveMode, SparseTable } from './table.ts'
import { cannotSave, tableFolder } from './text-errors.ts'
import { type Column, lineValues } from './text-layout.ts'
import { FLOAT_BYTES, writeFloat, writeSign } from './text-number.ts'
import { currentWeights, writtenLayout } from './text-rows.ts'

/** A server's part of a table: shards [first, first + count) of all. */
export interface ShardRange {
  readonly server: number
  readonly first: number
  readonly count: number
  readonly shards: number
  /** One process may write in the names of several: which one a shard's file is of. @default server */
  readonly serverOf?: (shard: number) => number
}

export interface SaveTextOptions {
  readonly folder: string
  /** The table's number: names its folder. */
  readonly number: number
  readonly table: SparseTable
  readonly optimizer: OptimizerSpec
  /** Steps made so far. */
  readonly steps: number
  readonly range: ShardRange
  /** @default 0: everything */
  readonly mode?: SaveMode
  /** Write .gz; modes 1 and 2, which are for serving, never do. @default true */
  readonly compress?: boolean
  /** Rows written so far. */
  readonly onRows?: (rows: number) => void
}

const SHARD_BYTES = 64 * 1024
const SIGN_BYTES = 20

/** Writes this server's shards; returns the rows written. No thread may train meanwhile. */
export async function saveTableText(options: SaveTextOptions): Promise<number> {
  const { folder, number, table, range, mode = 0, compress = true } = options
  const into = join(folder, tableFolder(number))
  try {
    await mkdir(into, { recursive: true })
    const files = new ShardFiles(into, range, compress && (mode === 0 || mode === 3))
    const rows = await writeRows(options, files)
    await removeOld(into, files.servers)
    files.finish()
    table.settle(mode)
    return rows
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === undefined ? error : cannotSave(into, error as NodeJS.ErrnoException)
  }
}

async function writeRows(options: SaveTextOptions, files: ShardFiles): Promise<number> {
  const { table, optimizer, steps, range, mode = 0, onRows } = options
  const layout = writtenLayout(table, optimizer, steps)
  const lineBytes = SIGN_BYTES + (FLOAT_BYTES + 1) * lineValues(layout) + 1
  const [head, both] = [layout.head, [...layout.head, ...layout.tail]]
  const whole = wholeRows(table)
  let written = 0
  for (const { signs, rows, rowBytes } of table.scan(mode)) {
    const halves = new Uint32Array(signs.buffer, signs.byteOffset, 2 * signs.length)
    // A scan gives the rows of one segment at a time.
    const lengths = new Uint32Array(2 ** table.segmentBits)
    lengths[segmentOf(signs[0]!, table.segmentBits)] = signs.length
    const weights = currentWeights(table, optimizer, steps, { signs: signs.slice(), lengths }, rows)
    const each = table.weightShape.weights
    const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength)
    for (let i = 0; i < signs.length; i++) {
      const [low, high] = [halves[2 * i]!, halves[2 * i + 1]!]
      const shard = modulo(low, high, range.shards)
      const row = { view, at: i * rowBytes, weights: weights?.subarray(i * each, (i + 1) * each) }
      const columns = whole(view, i * rowBytes) ? both : head
      files.append(shard, lineBytes, (out, at) => writeLine(out, at, low, high, columns, row))
    }
    written += signs.length
    onRows?.(written)
    await setImmediate() // writing blocks: let heartbeats have their turn
  }
  return written
}

interface RowView {
  readonly view: DataView
  readonly at: number
  /** The row's weights, where they are others than those stored. */
  readonly weights?: Float32Array | undefined
}

function writeLine(
  out: Uint8Array,
  start: number,
  low: number,
  high: number,
  columns: readonly Column[],
  { view, at: row, weights }: RowView,
): number {
  let at = writeSign(low, high, out, start)
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!
    out[at++] = 32
    if (column.kind === 'constant') at = writeFloat(Math.fround(column.value), out, at)
    else if (column.kind === 'double') at = writeFloat(Math.fround(view.getFloat64(row + 4 * column.at, true)), out, at)
    else if (column.kind === 'weight' && weights) at = writeFloat(weights[column.at]!, out, at)
    else at = writeFloat(view.getFloat32(row + 4 * column.at, true), out, at)
  }
  out[at++] = 10
  return at
}

/** Whether a row has all its weights. */
function wholeRows({ accessor }: SparseTable): (view: DataView, at: number) => boolean {
  if (!accessor) return () => true
  const flags = 4 * (accessorRow(accessor).stats + 3)
  return (view, at) => (view.getUint32(at + flags, true) & HAS_EMBEDX) > 0
}

/** sign mod shards, from its halves. */
function modulo(low: number, high: number, shards: number): number {
  return ((high % shards) * (2 ** 32 % shards) + (low % shards)) % shards
}

function segmentOf(sign: bigint, bits: number): number {
  return bits === 0 ? 0 : Number(mix64(sign) >> BigInt(64 - bits))
}

/** Files of an earlier save, whose shards may have been others. */
async function removeOld(folder: string, servers: ReadonlySet<string>): Promise<void> {
  const old = (await readdir(folder)).filter((name) => servers.has(/^part-(\d+)-/.exec(name)?.[1] ?? ''))
  await Promise.all(old.map((name) => rm(join(folder, name))))
}

/** The files of a server's shards, each with a buffer; under other names until all are whole. */
class ShardFiles {
  /** Whose files these are, as their names say. */
  readonly servers: ReadonlySet<string>
  readonly #range: ShardRange
  readonly #compress: boolean
  readonly #paths: readonly string[]
  readonly #buffers: Uint8Array[]
  readonly #used: Uint32Array

  constructor(folder: string, range: ShardRange, compress: boolean) {
    this.#range = range
    this.#compress = compress
    const { server: own, serverOf = () => own, first } = range
    const nameOf = (shard: number) => String(serverOf(shard)).padStart(3, '0')
    this.servers = new Set(Array.from({ length: range.count }, (_, i) => nameOf(first + i)))
    this.#paths = Array.from({ length: range.count }, (_, i) => {
      const [server, shard] = [nameOf(first + i), String(first + i).padStart(5, '0')]
      return join(folder, `part-${server}-${shard}${compress ? '.gz' : ''}`)
    })
    this.#buffers = this.#paths.map(() => new Uint8Array(0))
    this.#used = new Uint32Array(range.count)
    for (const path of this.#paths) closeSync(openSync(aside(path), 'w'))
  }

  /** Appends a line of at most `bytes` bytes. */
  append(shard: number, bytes: number, write: (out: Uint8Array, at: number) => number): void {
    const own = shard - this.#range.first
    if (own < 0 || own >= this.#range.count)
      throw new Error(`internal: a row of shard ${shard} on server ${this.#range.server}`)
    if (this.#buffers[own]!.length === 0) this.#buffers[own] = new Uint8Array(Math.max(SHARD_BYTES, 2 * bytes))
    if (this.#used[own]! + bytes > this.#buffers[own]!.length) this.#flush(own)
    this.#used[own] = write(this.#buffers[own]!, this.#used[own]!)
  }

  finish(): void {
    for (let own = 0; own < this.#paths.length; own++) {
      // A compressed file that is empty still has its header.
      if (this.#used[own]! > 0 || this.#compress) this.#flush(own)
    }
    for (const path of this.#paths) renameSync(aside(path), path)
  }

  /** Pieces of gzip one after the other are one gzip file. */
  #flush(own: number): void {
    const text = this.#buffers[own]!.subarray(0, this.#used[own]!)
    const file = openSync(aside(this.#paths[own]!), 'a')
    try {
      writeSync(file, this.#compress ? gzipSync(text, { level: 3 }) : text)
    } finally {
      closeSync(file)
    }
    this.#used[own] = 0
  }
}

const aside = (path: string): string => path.replace(/part-([^/]*)$/, '.saving-$1')
