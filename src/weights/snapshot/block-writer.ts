/** @file A file written in few large pieces with its checksum: one piece goes to the disk while the next is filled. */
import { performance } from 'node:perf_hooks'
import { crc32 } from 'node:zlib'
import { createFile, type WriteFile } from '../../base/fs/index.ts'
import { type FileMark, hexOf } from './manifest.ts'

const BLOCK_BYTES = 8 * 1024 * 1024

/** Milliseconds; only differences mean something. */
export type Clock = Pick<typeof performance, 'now'>

/** Creates files and fills them together; resolves to sizes and checksums when all are on the disk. */
export async function writeFiles(
  paths: readonly string[],
  fill: (writers: readonly BlockWriter[]) => Promise<void>,
): Promise<FileMark[]> {
  const writers: BlockWriter[] = []
  try {
    for (const path of paths) writers.push(await BlockWriter.create(path))
    await fill(writers)
    return await Promise.all(writers.map((writer) => writer.close()))
  } catch (error) {
    await Promise.all(writers.map((writer) => writer.abandon()))
    throw error
  }
}

export class BlockWriter {
  readonly #file: WriteFile
  #bytes = 0
  #crc = 0
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #spare = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #used = 0
  #writing: Promise<void> = Promise.resolve()
  readonly #clock: Clock
  /** What copies and checksums took of this thread, by its clock. */
  workMs = 0

  private constructor(file: WriteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  static async create(path: string, clock: Clock = performance): Promise<BlockWriter> {
    return new BlockWriter(await createFile(path), clock)
  }

  /** Copies `data`, which may be shared memory; waits only when both pieces are full. */
  async append(data: Uint8Array): Promise<void> {
    for (let from = 0; from < data.length; ) {
      const size = Math.min(data.length - from, BLOCK_BYTES - this.#used)
      const began = this.#clock.now()
      this.#block.set(data.subarray(from, from + size), this.#used)
      this.workMs += this.#clock.now() - began
      this.#used += size
      from += size
      if (this.#used === BLOCK_BYTES) await this.#flush()
    }
  }

  /** Writes the rest; resolves to size and checksum when all is on the disk. */
  async close(): Promise<FileMark> {
    await this.#flush()
    await this.#writing
    await this.#file.close()
    return { bytes: this.#bytes, crc32: hexOf(this.#crc) }
  }

  /** Lets the file go, whatever state it is in. */
  async abandon(): Promise<void> {
    await this.#writing.catch(() => undefined)
    await this.#file.close().catch(() => undefined)
  }

  async #flush(): Promise<void> {
    const full = this.#block.subarray(0, this.#used)
    const began = this.#clock.now()
    this.#crc = crc32(full, this.#crc)
    this.workMs += this.#clock.now() - began
    this.#bytes += full.length
    await this.#writing
    this.#writing = this.#file.write(full)
    this.#writing.catch(() => undefined) // looked at when it is awaited
    ;[this.#block, this.#spare, this.#used] = [this.#spare, this.#block, 0]
  }
}
