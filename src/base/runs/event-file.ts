/** @file Events of one process as JSON lines, each with its time; cut into files that can be opened. */
import { readdirSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Event, EventSink } from '../event/index.ts'
import { jsonlSink } from '../event/index.ts'
import { AppendFile } from './append-file.ts'
import { type ReadFile, readPlain } from './read-plain.ts'

export type TimedEvent = Event & { readonly at: number }

const FILE_BYTES = 16 << 20

/** What is in the curves, in the logs, or only moves a bar. */
const NOT_KEPT: ReadonlySet<Event['kind']> = new Set(['batch', 'tables', 'output', 'progress'])

export class EventWriter {
  readonly #path: string
  readonly #onFailure: (error: Error) => void
  readonly #limit: number
  #file: AppendFile

  constructor(path: string, onFailure: (error: Error) => void, limit = FILE_BYTES) {
    this.#path = path
    this.#onFailure = onFailure
    this.#limit = limit
    this.#file = new AppendFile(path, onFailure)
  }

  add(event: Event, at: number): void {
    if (NOT_KEPT.has(event.kind)) return
    if (this.#file.size > this.#limit) this.#rotate()
    this.#lines({ ...event, at } as TimedEvent)
  }

  readonly #lines: EventSink = jsonlSink((text) => this.#file.add(Buffer.from(text)))

  /** `local.jsonl` becomes `local.1.jsonl`, the next `local.2.jsonl`: nothing is dropped. */
  #rotate(): void {
    this.#file.close()
    try {
      renameSync(this.#path, numbered(this.#path, partsOf(this.#path).length + 1))
      this.#file = new AppendFile(this.#path, this.#onFailure)
    } catch (error) {
      this.#onFailure(error as Error)
    }
  }

  close(): void {
    this.#file.close()
  }
}

const numbered = (path: string, n: number) => path.replace(/\.jsonl$/, `.${n}.jsonl`)

/** Those that were put aside, oldest first. */
function partsOf(path: string): string[] {
  const stem = basename(path, '.jsonl')
  const count = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(`${stem}.`) && /^\d+\.jsonl$/.test(name.slice(stem.length + 1)),
  ).length
  return Array.from({ length: count }, (_, i) => join(dirname(path), basename(numbered(path, i + 1))))
}

export interface ReadEvents {
  readonly events: readonly TimedEvent[]
  /** Lines that are no events; a last one that is not whole is none of them. */
  readonly damaged: number
}

export function readEvents(path: string, read: ReadFile = readPlain): ReadEvents {
  const texts = [...partsOf(path), path].map((file) => textOf(file, read))
  const events: TimedEvent[] = []
  let damaged = 0
  for (const text of texts) {
    const lines = text.split('\n')
    lines.pop() // empty, or torn
    for (const line of lines) {
      const event = eventOf(line)
      if (event) events.push(event)
      else damaged++
    }
  }
  return { events, damaged }
}

function textOf(path: string, read: ReadFile): string {
  try {
    return read(path).toString('utf8')
  } catch {
    return ''
  }
}

function eventOf(line: string): TimedEvent | undefined {
  try {
    const value = JSON.parse(line) as TimedEvent
    return typeof value?.kind === 'string' && typeof value.at === 'number' ? value : undefined
  } catch {
    return undefined
  }
}
