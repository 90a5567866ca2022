/** @file What a run's file looks like: pages of rows, their fences, the filter, and at the end what all of it is. */
import { crc32 } from 'node:zlib'
import { UserError } from '../../base/util/index.ts'

export const BLOCK = 4096 // direct reads and writes are of whole blocks
const FORMAT = 'oarfish-run'
const VERSION = 1

/** Whose rows they are: a run of any other table is refused. */
export interface RunKind {
  readonly table: string
  /** A digest of what a row holds: width, state, first values. */
  readonly layout: string
  readonly rowBytes: number
}

export interface RunMark extends RunKind {
  readonly rows: number
  readonly pages: number
  readonly pageBytes: number
  /** Blocks of 64 bytes. */
  readonly filterBlocks: number
  /** Of fences and filter. */
  readonly crc32: number
}

/** The smallest page of whole blocks that wastes little of itself. */
export function pageBytesOf(rowBytes: number): number {
  const waste = (bytes: number) => 1 - (Math.floor((bytes - PAGE_HEAD) / (rowBytes + 8)) * (rowBytes + 8)) / bytes
  const sizes = Array.from({ length: 16 }, (_, i) => (i + 1) * BLOCK).filter((bytes) => waste(bytes) < 1)
  if (sizes.length === 0) return Math.ceil((rowBytes + 8 + PAGE_HEAD) / BLOCK) * BLOCK
  return sizes.find((bytes) => waste(bytes) <= 0.15) ?? sizes.reduce((a, b) => (waste(b) < waste(a) ? b : a))
}

const PAGE_HEAD = 16

export const wholeBlocks = (bytes: number) => Math.ceil(bytes / BLOCK) * BLOCK
export const fencesAt = ({ pages, pageBytes }: Pick<RunMark, 'pages' | 'pageBytes'>) => pages * pageBytes
export const filterAt = (mark: Pick<RunMark, 'pages' | 'pageBytes'>) => fencesAt(mark) + wholeBlocks(4 * mark.pages)
export const footerAt = (mark: Pick<RunMark, 'pages' | 'pageBytes' | 'filterBlocks'>) =>
  filterAt(mark) + wholeBlocks(64 * mark.filterBlocks)

/** One block: `oarfish-run 1 CRC {...}`. */
export function footerOf(mark: RunMark): Uint8Array {
  const text = JSON.stringify(mark)
  const block = Buffer.alloc(BLOCK)
  block.write(`${FORMAT} ${VERSION} ${crc32(text)} ${text}`)
  return block
}

/** What the last block of a file says of it; throws when it is not a run, not whole, or another table's. */
export function readFooter(path: string, block: Uint8Array, fileBytes: number, kind: RunKind): RunMark {
  const text = Buffer.from(block).toString('utf8').replace(/\0+$/, '')
  const [, version, crc, json = ''] = /^oarfish-run (\d+) (\d+) (\{.*\})$/s.exec(text) ?? []
  if (version === undefined) throw damagedRun(path, 'it does not end as a run does: it was not written to its end')
  if (Number(version) !== VERSION)
    throw otherRun(path, `it has version ${version}, this program reads version ${VERSION}`)
  if (crc32(json) !== Number(crc)) throw damagedRun(path, 'the checksum of its last block does not match')
  const mark = JSON.parse(json) as RunMark
  if (mark.table !== kind.table) throw otherRun(path, `its rows are of table ${mark.table}, not of ${kind.table}`)
  if (mark.layout !== kind.layout || mark.rowBytes !== kind.rowBytes)
    throw otherRun(
      path,
      `its rows have another layout (${mark.rowBytes} bytes each; this table's have ${kind.rowBytes})`,
    )
  if (fileBytes !== footerAt(mark) + BLOCK)
    throw damagedRun(path, `it has ${fileBytes} bytes where ${footerAt(mark) + BLOCK} were written`)
  return mark
}

export function damagedRun(path: string, why: string, cause?: unknown): UserError {
  return new UserError(`${path}: ${why}.`, {
    code: 'TIER_DAMAGED',
    hint: 'rows on this disk cannot be trusted any more: look after the disk, then start the job again; it goes on from its last checkpoint and writes these files anew',
    cause,
  })
}

export function otherRun(path: string, why: string): UserError {
  return new UserError(`${path}: ${why}.`, {
    code: 'TIER_OTHER',
    hint: 'give each job and each table a folder of its own (table_parameters.<table>.ssd_path), or remove this one if nothing uses it',
  })
}
