/** @file The input cut into numbered chunks: a pure function of files, their sizes, seed and epoch. */
import { createRng, deriveSeed } from '../util/index.ts'
import { rowGroupsOf } from './parquet-plan.ts'

/** How files are read: as text, by a user's reader, through a command, or as tables with columns. */
export type InputKind = 'text' | 'user' | 'pipe' | 'csv' | 'parquet'

/** One source of samples: a byte range of a plain file (it owns the lines that start in it), a row group, or a whole file that must be streamed. */
export interface Chunk {
  /** In the order of this reader. */
  readonly number: number
  /** In the order of all workers' chunks together. */
  readonly place: number
  readonly kind: 'range' | 'gzip' | 'user' | 'pipe' | 'csv' | 'parquet'
  readonly file: string
  readonly from: number
  readonly to: number
  /** All files of the pass, which a user's reader divides among ranks itself. */
  readonly files?: readonly string[]
  /** Of a Parquet file; from and to are then its share of the file's bytes. */
  readonly rowGroup?: number
}

export interface PlanOptions {
  readonly files: readonly { readonly path: string; readonly bytes: number }[]
  readonly input: InputKind
  readonly chunkBytes: number
  /** Chunks in an order drawn from (seed, epoch) instead of file order. */
  readonly shuffle: boolean
  readonly seed: number
  readonly epoch: number
  /** Only this worker's block of the chunks. @default all */
  readonly part?: Part
}

/** One of `count` workers. */
export interface Part {
  readonly index: number
  readonly count: number
}

/** Text per chunk: parsed it is of about the same size, and a chunk is some thousand samples. */
export const CHUNK_BYTES = 1024 * 1024

export function planChunks({ files, input, chunkBytes, shuffle, seed, epoch, part }: PlanOptions): readonly Chunk[] {
  const chunks = files.flatMap(({ path, bytes }): Omit<Chunk, 'number' | 'place'>[] => {
    const whole = { file: path, from: 0, to: bytes }
    if (input === 'user' || input === 'pipe') return [{ kind: input, ...whole }]
    if (input === 'parquet') return rowGroupsOf(path, bytes).map((group) => ({ kind: 'parquet', file: path, ...group }))
    if (path.endsWith('.gz')) return [{ kind: input === 'csv' ? 'csv' : 'gzip', ...whole }]
    return Array.from({ length: Math.ceil(bytes / chunkBytes) }, (_, i) => ({
      kind: input === 'csv' ? 'csv' : 'range',
      file: path,
      from: i * chunkBytes,
      to: Math.min(bytes, (i + 1) * chunkBytes),
    }))
  })
  if (shuffle) {
    const rng = createRng(deriveSeed(seed, `chunk order of epoch ${epoch}`))
    for (let i = chunks.length - 1; i > 0; i--) {
      const j = rng.below(i + 1)
      ;[chunks[i], chunks[j]] = [chunks[j]!, chunks[i]!]
    }
  }
  const placed = chunks.map((chunk, place) => ({ place, ...chunk }))
  return (part ? blockOf(placed, part) : placed).map((chunk, number) => ({ number, ...chunk }))
}

/** How many parts files can be read in: their chunks, or whole files where only those can be read. */
export function countPieces(files: readonly { readonly path: string; readonly bytes: number }[], input: InputKind) {
  const plan = { files, input, chunkBytes: CHUNK_BYTES, shuffle: false, seed: 0, epoch: 0 }
  return planChunks(plan).length
}

/** A worker's contiguous block of a list: the first `length % count` workers get one more ([a..e] for 2: abc, de). */
export function blockOf<T>(items: readonly T[], { index, count }: Part): readonly T[] {
  const [each, more] = [Math.floor(items.length / count), items.length % count]
  const from = index * each + Math.min(index, more)
  return items.slice(from, from + each + (index < more ? 1 : 0))
}
