/** @file The input cut into numbered chunks: a pure function of files, their sizes, seed and epoch. */
import { createRng, deriveSeed } from '../base/util/index.ts'
import { rowGroupsOf } from './tables/parquet-plan.ts'

/** How files are read: as text, by a user's reader (in Python too), through a command, or as tables with columns. */
export type InputKind = 'text' | 'user' | 'python' | 'pipe' | 'csv' | 'parquet'

/** One source of samples: a byte range of a plain file (it owns the lines that start in it), a row group, or a whole file that must be streamed. */
export interface Chunk {
  /** In the order of this reader. */
  readonly number: number
  /** In the order of all workers' chunks together. */
  readonly place: number
  readonly kind: 'range' | 'gzip' | 'user' | 'python' | 'pipe' | 'csv' | 'parquet'
  readonly file: string
  readonly from: number
  readonly to: number
  /** All files of the pass, which a user's reader divides among ranks itself, or reads together. */
  readonly files?: readonly string[]
  /** The places of the chunks that this one is made of. */
  readonly places?: readonly number[]
  /** Of a Parquet file; from and to are then its share of the file's bytes. */
  readonly rowGroup?: number
}

/** Which chunks a pass has, and in which order. */
export interface PlanOptions {
  readonly epoch: number
  /** Chunks in an order drawn from (seed, epoch) instead of file order. @default false */
  readonly shuffle?: boolean | undefined
  /** @default 0 */
  readonly seed?: number | undefined
  /** Text per chunk. @default 1 MiB */
  readonly chunkBytes?: number | undefined
  /** A user's reader is given all files at once. @default false */
  readonly allFiles?: boolean | undefined
}

export interface MeasuredFile {
  readonly path: string
  readonly bytes: number
}

/** Text per chunk: parsed it is of about the same size, and a chunk is some thousand samples. */
export const CHUNK_BYTES = 1024 * 1024

/** The chunks of all workers together, in the order of their places. */
export function planChunks(files: readonly MeasuredFile[], input: InputKind, options: PlanOptions): readonly Chunk[] {
  const { epoch, shuffle = false, seed = 0, chunkBytes = CHUNK_BYTES, allFiles = false } = options
  const chunks = files.flatMap((file) => chunksOf(file, input, chunkBytes))
  if (shuffle) {
    const rng = createRng(deriveSeed(seed, `chunk order of epoch ${epoch}`))
    for (let i = chunks.length - 1; i > 0; i--) {
      const j = rng.below(i + 1)
      ;[chunks[i], chunks[j]] = [chunks[j]!, chunks[i]!]
    }
  }
  const plan = chunks.map((chunk, place) => ({ number: place, place, ...chunk }))
  return allFiles ? [{ ...joinChunks(plan), places: [0] }] : plan
}

function chunksOf(
  { path: file, bytes }: MeasuredFile,
  input: InputKind,
  chunkBytes: number,
): readonly Omit<Chunk, 'number' | 'place'>[] {
  const whole = { file, from: 0, to: bytes }
  if (input === 'user' || input === 'python' || input === 'pipe') return [{ kind: input, ...whole }]
  if (input === 'parquet') return rowGroupsOf(file, bytes).map((group) => ({ kind: 'parquet', file, ...group }))
  if (file.endsWith('.gz')) return [{ kind: input === 'csv' ? 'csv' : 'gzip', ...whole }]
  return Array.from({ length: Math.ceil(bytes / chunkBytes) }, (_, i) => ({
    kind: input === 'csv' ? 'csv' : 'range',
    file,
    from: i * chunkBytes,
    to: Math.min(bytes, (i + 1) * chunkBytes),
  }))
}

/** One chunk that is all of them. */
export function joinChunks(chunks: readonly Chunk[]): Chunk {
  const [files, places] = [chunks.flatMap(({ files, file }) => files ?? [file]), chunks.map(({ place }) => place)]
  return { ...chunks[0]!, from: 0, to: sizeOf(chunks), files, places }
}

/** Input bytes of chunks. */
export function sizeOf(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** How many parts files can be read in: their chunks, or whole files where only those can be read. */
export function countPieces(files: readonly MeasuredFile[], input: InputKind, chunkBytes = CHUNK_BYTES): number {
  return planChunks(files, input, { epoch: 0, chunkBytes }).length
}

/** One of `count` workers. */
export interface Part {
  readonly index: number
  readonly count: number
}

/** A worker's contiguous block of a list: the first `length % count` workers get one more ([a..e] for 2: abc, de). */
export function blockOf<T>(items: readonly T[], { index, count }: Part): readonly T[] {
  const [each, more] = [Math.floor(items.length / count), items.length % count]
  const from = index * each + Math.min(index, more)
  return items.slice(from, from + each + (index < more ? 1 : 0))
}
