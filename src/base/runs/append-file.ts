/** @file A file that is only added to, in the background: a disk that is slow or full never holds training up. */
import { closeSync, fstatSync, openSync, write, writeSync } from 'node:fs'

const FLUSH_MS = 1000

/** One that cannot be written any more takes no further bytes; `onFailure` hears of it once. */
export class AppendFile {
  #fd: number | undefined
  #size: number
  #waiting: Uint8Array[] = []
  #isBusy = false
  #timer: NodeJS.Timeout | undefined
  readonly #onFailure: (error: Error) => void

  constructor(path: string, onFailure: (error: Error) => void) {
    this.#fd = openSync(path, 'a')
    this.#size = fstatSync(this.#fd).size
    this.#onFailure = onFailure
  }

  /** Of the file, with what waits to be written. */
  get size(): number {
    return this.#size
  }

  add(bytes: Uint8Array): void {
    if (this.#fd === undefined) return
    this.#waiting.push(bytes)
    this.#size += bytes.length
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  #take(): Uint8Array {
    const all = Buffer.concat(this.#waiting)
    this.#waiting = []
    return all
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#fd === undefined || this.#isBusy || this.#waiting.length === 0) return
    this.#isBusy = true
    write(this.#fd, this.#take(), (error) => {
      this.#isBusy = false
      if (error) this.#fail(error)
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
    })
  }

  #fail(error: Error): void {
    if (this.#fd === undefined) return
    const fd = this.#fd
    this.#fd = undefined
    this.#waiting = []
    closeSync(fd)
    this.#onFailure(error)
  }

  /** Writes what waits, at once: the process may be about to end. */
  close(): void {
    clearTimeout(this.#timer)
    if (this.#fd === undefined) return
    try {
      if (this.#waiting.length > 0) writeSync(this.#fd, this.#take())
      // A write under way keeps the descriptor; the system closes it with the process.
      if (!this.#isBusy) closeSync(this.#fd)
      this.#fd = undefined
    } catch (error) {
      this.#fail(error as Error)
    }
  }
}
