/** @file What processes write to their logs: as events while they run, and a log's last lines for a report. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { type EventSink, readView, removeView } from '../../base/event/index.ts'
import type { Child } from './child.ts'

const CHUNK = 64 * 1024
const SAMPLE = 4 * 1024

/** Hands out the complete lines of a growing file, each once. */
export class LineReader {
  readonly #path: string
  readonly #decoder = new StringDecoder('utf8')
  #offset: number
  #partial = ''

  /** `from`: bytes that are there already and not of interest. */
  constructor(path: string, from = 0) {
    this.#path = path
    this.#offset = from
  }

  /** The lines completed since the last call; with `last` also one that has no end yet. */
  read(last = false): readonly string[] {
    const text = withFile(this.#path, (fd) => this.#readNew(fd)) ?? ''
    const lines = `${this.#partial}${text}`.split('\n')
    this.#partial = lines.pop()!
    if (last && this.#partial !== '') {
      lines.push(this.#partial)
      this.#partial = ''
    }
    return lines
  }

  #readNew(fd: number): string {
    const buffer = Buffer.allocUnsafe(CHUNK)
    let text = ''
    for (;;) {
      const bytes = readSync(fd, buffer, 0, CHUNK, this.#offset)
      if (bytes === 0) return text
      this.#offset += bytes
      text += this.#decoder.write(buffer.subarray(0, bytes))
    }
  }
}

/** The last lines of a file that are not empty; of a large file only its end is read. */
export function lastLines(path: string, count: number): readonly string[] {
  const text = withFile(path, (fd) => {
    const { size } = fstatSync(fd)
    const buffer = Buffer.allocUnsafe(Math.min(size, count === 1 ? SAMPLE : CHUNK))
    const bytes = readSync(fd, buffer, 0, buffer.length, size - buffer.length)
    return buffer.toString('utf8', 0, bytes)
  })
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '')
  return lines.slice(-count)
}

/** Undefined when the file is not there (any more): a log is never a reason to stop a job. */
function withFile<T>(path: string, work: (fd: number) => T): T | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, 'r')
    return work(fd)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

const POLL_MS = 100

export interface FollowOptions {
  readonly emit: EventSink
  /** Also emit the newest line of processes that are not echoed. */
  readonly sampleOutput?: boolean | undefined
}

/** Emits what processes print: the first worker of this host, or a process that is alone, line by line, the others by sample. */
export function follow(children: readonly Child[], { emit, sampleOutput = false }: FollowOptions) {
  const echoed = children.length === 1 ? children[0] : children.find(({ spec }) => spec.role === 'worker')
  const reader = echoed && new LineReader(echoed.spec.log, echoed.logFrom)
  const newest = new Map<Child, string>()
  const output = ({ spec: { role, rank } }: Child, line: string, echo: boolean) =>
    emit({ kind: 'output', role, rank, line, echo })
  const views = new Map<Child, string>()
  const followView = (child: Child) => {
    const { role, rank, log } = child.spec
    const view = readView(log)
    const text = JSON.stringify(view)
    if (view === undefined || views.get(child) === text) return
    views.set(child, text)
    emit({ kind: 'output', role, rank, line: '', echo: false, view })
  }
  const poll = (child: Child, last: boolean) => {
    if (sampleOutput) followView(child)
    if (child === echoed) for (const line of reader!.read(last)) output(child, line, true)
    else if (sampleOutput) {
      const [line] = lastLines(child.spec.log, 1)
      if (line === undefined || newest.get(child) === line) return
      newest.set(child, line)
      output(child, line, false)
    }
  }
  const timer = setInterval(() => {
    for (const child of children) if (!child.exit) poll(child, false)
  }, POLL_MS)
  const close = () => {
    clearInterval(timer)
    for (const { spec } of children) removeView(spec.log)
  }
  return { drain: (child: Child) => poll(child, true), close }
}
