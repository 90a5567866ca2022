/**
 * @file Many pages at once, past the page cache: Linux's own asynchronous reads on files opened with O_DIRECT, submitted and collected by
 * one thread. Where the system or the file system has no such thing, one read after the other.
 */
import { constants, openSync, readSync } from 'node:fs'
import { arch, platform } from 'node:process'
import { loadKoffi } from '../../base/util/index.ts'

/** Pages asked for at a time: beyond this a disk does not get faster. */
const IN_FLIGHT = 256

/** `bytes` of a file from `offset` on, to `to` in the memory given. */
export interface PageRead {
  readonly file: number
  readonly offset: number
  readonly to: number
}

/** Opens for reads past the page cache, or plainly where the file system refuses that. */
export function openDirect(path: string, flags: number): number {
  try {
    return openSync(path, flags | (constants.O_DIRECT ?? 0), 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
    return openSync(path, flags, 0o600)
  }
}

/** Reads pages of `bytes` each. */
export interface PageReader {
  readonly isDirect: boolean
  read(pages: readonly PageRead[], bytes: number): void
  close(): void
}

/** Over the memory that `buffer` gives, whose pages are aligned. */
export function openPageReader(buffer: () => ArrayBuffer): PageReader {
  return (
    openSystemReader(buffer) ?? {
      isDirect: false,
      read: (pages, bytes) => readInTurn(buffer(), pages, bytes),
      close() {},
    }
  )
}

function readInTurn(buffer: ArrayBuffer, pages: readonly PageRead[], bytes: number): void {
  for (const { file, offset, to } of pages) {
    const got = readSync(file, new Uint8Array(buffer, to, bytes), 0, bytes, offset)
    if (got !== bytes) throw new Error(`a read of ${bytes} bytes at ${offset} gave ${got}`)
  }
}

/** Numbers of io_setup, io_destroy, io_submit and io_getevents. */
const CALLS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  x64: [206, 207, 209, 208],
  arm64: [0, 1, 2, 4],
}

/** Bytes of a request (struct iocb) and of an event (struct io_event). */
const [REQUEST, EVENT] = [64, 32]
const EINTR = 4

function openSystemReader(buffer: () => ArrayBuffer): PageReader | undefined {
  const calls = platform === 'linux' ? CALLS[arch] : undefined
  if (!calls) return undefined
  const [setup, destroy, submit, collect] = calls
  const koffi = loadKoffi()
  const libc = koffi.load(null)
  const context = [0n]
  // The most that may be asked for at once is a limit of the whole machine (fs.aio-max-nr).
  if (Number(libc.func('long syscall(long, long, _Inout_ uint64_t*)')(setup, IN_FLIGHT, context)) !== 0)
    return undefined
  const own = BigInt(context[0]!)
  const send = libc.func('long syscall(long, uint64_t, long, uint64_t*)')
  const wait = libc.func('long syscall(long, uint64_t, long, long, uint64_t*, void*)')
  const end = libc.func('long syscall(long, uint64_t)')
  const place = libc.func('void* memmove(void*, void*, size_t)')
  const addressOf = (bytes: Uint8Array) => BigInt(koffi.address(place(bytes, bytes, 0)))
  const requests = new Uint32Array((IN_FLIGHT * REQUEST) / 4)
  const requestsAt = addressOf(new Uint8Array(requests.buffer))
  const pointers = new BigUint64Array(IN_FLIGHT)
  const pointerTo = BigUint64Array.from(pointers, (_, slot) => requestsAt + BigInt(slot * REQUEST))
  const events = new Int32Array((IN_FLIGHT * EVENT) / 4)
  const free = Array.from({ length: IN_FLIGHT }, (_, i) => i)
  const read = (pages: readonly PageRead[], bytes: number) => {
    const memory = Number(addressOf(new Uint8Array(buffer())))
    let [sent, done] = [0, 0]
    let failure: Error | undefined
    while (done < pages.length) {
      const more = failure ? 0 : Math.min(pages.length - sent, free.length)
      for (let i = 0; i < more; i++) {
        const { file, offset, to } = pages[sent + i]!
        const slot = free[i]!
        const at = (slot * REQUEST) / 4
        requests[at] = slot
        requests[at + 5] = file // opcode 0, before it, reads
        put(requests, at + 6, memory + to)
        requests[at + 8] = bytes
        put(requests, at + 10, offset)
        pointers[i] = pointerTo[slot]!
      }
      const taken = more > 0 ? Number(send(submit, own, more, pointers)) : 0
      if (taken < 0 || (taken === 0 && sent === done)) throw new Error('the system refused to read')
      free.splice(0, taken)
      sent += taken
      const least = Math.min(sent - done, sent < pages.length ? IN_FLIGHT / 2 : IN_FLIGHT)
      const got = Number(wait(collect, own, least, IN_FLIGHT, events, null))
      if (got < 0) {
        if (koffi.errno() === EINTR) continue // a signal came first
        throw new Error(`the system's reads failed with error ${koffi.errno()}`)
      }
      for (let i = 0; i < got; i++) {
        free.push(events[8 * i]!)
        const result = events[8 * i + 4]!
        if (result !== bytes) failure ??= readFailure(result)
      }
      done += got
      if (failure && sent === done) throw failure
    }
    if (failure) throw failure
  }
  return { isDirect: true, read, close: () => void end(destroy, own) }
}

/** Of 64 bits, which are no addresses or lengths that a number does not hold. */
function put(words: Uint32Array, at: number, value: number): void {
  words[at] = value
  words[at + 1] = value / 2 ** 32
}

function readFailure(result: number): Error {
  return result < 0
    ? Object.assign(new Error(`the disk answered with error ${-result}`), {
        errno: -result,
        code: -result === 5 ? 'EIO' : undefined,
      })
    : new Error(`the file ends inside of a page (${result} bytes were read)`)
}
