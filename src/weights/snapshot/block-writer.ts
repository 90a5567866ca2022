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

/** What is added is copied once, into the blocks that go to the disk as they are. */
export class BlockWriter {
  readonly #file: WriteFile
  readonly #clock: Clock
  #bytes = 0
  #crc = 0
  /** In their order, all full. */
  readonly #full: Buffer<ArrayBuffer>[] = []
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #used = 0
  /** Written: memory that is new costs more than the copy. */
  readonly #spare: Buffer<ArrayBuffer>[] = []
  #writing: Promise<void> = Promise.resolve()
  /** What checksums took of this thread, by its clock. */
  workMs = 0

  private constructor(file: WriteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  static async create(path: string, clock: Clock = performance): Promise<BlockWriter> {
    return new BlockWriter(await createFile(path), clock)
  }

  /** Copies `data`, which may be shared memory; nothing is written. */
  add(data: Uint8Array): void {
    for (let from = 0; from < data.length; ) {
      const size = Math.min(data.length - from, BLOCK_BYTES - this.#used)
      this.#block.set(data.subarray(from, from + size), this.#used)
      this.#used += size
      from += size
      if (this.#used < BLOCK_BYTES) continue
      this.#full.push(this.#block)
      this.#block = this.#spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#used = 0
    }
  }

  /** Writes the first full block; resolves to its bytes when the one before it is written. 0: there is none. */
  async writeFull(): Promise<number> {
    const block = this.#full.shift()
    if (!block) return 0
    await this.#write(block)
    return block.length
  }

  /** The same of what was copied and of `data`. */
  async append(data: Uint8Array): Promise<void> {
    this.add(data)
    while ((await this.writeFull()) > 0);
  }

  /** Writes the rest; resolves to size and checksum when all is on the disk. */
  async close(): Promise<FileMark> {
    while ((await this.writeFull()) > 0);
    await this.#write(this.#block.subarray(0, this.#used))
    await this.#writing
    await this.#file.close()
    return { bytes: this.#bytes, crc32: hexOf(this.#crc) }
  }

  /** Lets the file go, whatever state it is in. */
  async abandon(): Promise<void> {
    await this.#writing.catch(() => undefined)
    await this.#file.close().catch(() => undefined)
  }

  async #write(block: Buffer<ArrayBuffer>): Promise<void> {
    const began = this.#clock.now()
    this.#crc = crc32(block, this.#crc)
    this.workMs += this.#clock.now() - began
    this.#bytes += block.length
    await this.#writing
    this.#writing = this.#file.write(block).then(() => {
      if (block.length === BLOCK_BYTES) this.#spare.push(block)
    })
    this.#writing.catch(() => undefined) // looked at when it is awaited
  }
}
