/**
 * @file The pulse of a process: a thread that answers for it, however long its main thread is at something, and hears the pulses of others.
 * What it hears lies in shared memory, where peers look (peer.ts). Knows nothing of what the processes do.
 */
import { rmSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { builtFile, startThread } from '../util/index.ts'
import type { Identity } from './handshake.ts'
import { fields, optional, readJson, text } from './message.ts'
import type { FromPulse, PulseSettings, PulseTarget, ToPulse } from './pulse-thread.ts'

/** Fact of a hello: where the pulse of a process is heard, as JSON. */
export const PULSE = 'pulse'

/** Where a pulse is heard: over TCP, and on its own host. */
export interface PulsePlace {
  readonly endpoint: string
  readonly path?: string | undefined
}

export interface PulseOptions {
  readonly identity: Identity
  /** So many processes are heard, by number. */
  readonly others: number
  /** The host at which the others may connect. @default nobody connects here, this process connects to the others */
  readonly host?: string | undefined
  /** Between two signs of life. @default 500 */
  readonly everyMs?: number | undefined
  readonly onWarning: (message: string) => void
}

/** What was heard of another process. */
export interface PulseReading {
  /** Signs of life so far. */
  readonly beats: number
  /** How long its main thread has not run; 0 where it runs. */
  readonly stuckMs: number
  /** The longest time between two signs of life. */
  readonly longestMs: number
}

/** Words of the memory: signs of life of the own main thread; then for each other process those of PulseReading. */
export const MAIN_BEATS = 0
export const [BEATS, STUCK_MS, LONGEST_MS, WORDS] = [0, 1, 2, 3]
export const wordsAt = (other: number): number => 1 + other * WORDS

const EVERY_MS = 500
/** Often enough that a main thread which runs has shown it since the pulse last looked. */
const MAIN_EVERY_MS = 100

export class Pulse {
  /** Where others connect; undefined where nobody does. */
  place: PulsePlace | undefined
  readonly #worker: Worker
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #beating: NodeJS.Timeout
  readonly #onWarning: (message: string) => void
  #isOpen = false
  #closing = false

  private constructor({ identity, others, host, everyMs = EVERY_MS, onWarning }: PulseOptions) {
    const memory = new SharedArrayBuffer(4 * wordsAt(others))
    const settings: PulseSettings = { memory, identity, others, host, everyMs }
    this.#words = new Int32Array(memory)
    this.#onWarning = onWarning
    this.#worker = startThread(builtFile('base/net/pulse-thread'), settings, { execArgv: [], name: 'pulse' })
    this.#beating = setInterval(() => Atomics.add(this.#words, MAIN_BEATS, 1), Math.min(MAIN_EVERY_MS, everyMs)).unref()
  }

  /** Resolves when the thread runs and, where others may connect, listens. It does not keep the process alive. */
  static async open(options: PulseOptions): Promise<Pulse> {
    const pulse = new Pulse(options)
    pulse.place = await new Promise<PulsePlace | undefined>((resolve, reject) => {
      pulse.#worker.on('message', (message: FromPulse) => {
        if (message.kind === 'open') resolve(message.place)
        else pulse.#onWarning(message.message)
      })
      pulse.#worker.on('error', (error) => {
        reject(error)
        if (!pulse.#closing && pulse.#isOpen) pulse.#onWarning(lostThread(error as Error))
      })
    })
    pulse.#isOpen = true
    pulse.#worker.unref()
    return pulse
  }

  /** What a hello says of it. */
  get facts(): Readonly<Record<string, string>> {
    return this.place ? { [PULSE]: JSON.stringify(this.place) } : {}
  }

  /** Keeps a connection to the pulse of another process, from now on. */
  hear(target: PulseTarget): void {
    this.#worker.postMessage({ kind: 'hear', target } satisfies ToPulse)
  }

  of(other: number): PulseReading {
    const at = wordsAt(other)
    const word = (which: number) => Atomics.load(this.#words, at + which)
    return { beats: word(BEATS), stuckMs: word(STUCK_MS), longestMs: word(LONGEST_MS) }
  }

  async close(): Promise<void> {
    this.#closing = true
    clearInterval(this.#beating)
    await this.#worker.terminate()
    // A thread that is ended leaves the name of its socket behind.
    if (this.place?.path) rmSync(this.place.path, { force: true })
  }
}

/** As Pulse.open; a process in which no thread can be started goes on without, and says so. */
export async function openPulse(options: PulseOptions): Promise<Pulse | undefined> {
  return Pulse.open(options).catch((error: Error) => {
    options.onWarning(lostThread(error))
    return undefined
  })
}

const readPlace = fields<PulsePlace>({ endpoint: text(300), path: optional(text(300)) })

/** The place that a hello names; undefined where it names none. */
export function pulsePlace(facts: Readonly<Record<string, string>>): PulsePlace | undefined {
  const place = facts[PULSE]
  return place === undefined ? undefined : readJson(Buffer.from(place), 'pulse', readPlace)
}

function lostThread(error: Error): string {
  return `The thread that answers for this process has ended (${error.message}): a main thread that is busy for longer than runner.silence_limit now looks like the end of the process.`
}
