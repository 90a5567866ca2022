/** @file What a job has said so far, over all its starts, with the time at which it was read; and waiting for what it will say. */
import { readdirSync } from 'node:fs'
import type { Event } from '../../src/base/event/index.ts'
import type { Fault, Moment } from './plan.ts'

export interface Told {
  readonly atMs: number
  readonly event: Event
}

export class Timeline {
  readonly told: Told[] = []
  /** Process ids of all processes there have been, and of those that were started last, by name. */
  readonly pids = new Set<number>()
  readonly running = new Map<string, number>()
  /** Starts of the whole job: by hand, and by the launcher. */
  starts = 0
  readonly #listeners = new Set<() => void>()

  /** A line that a launcher, or a process that runs alone, has printed. */
  read(line: string): void {
    const event = parsed(line)
    if (!event) return
    const inner = event.kind === 'output' && event.line.startsWith('{') ? parsed(event.line) : undefined
    this.add(inner ?? event)
  }

  add(event: Event): void {
    this.told.push({ atMs: Date.now(), event })
    if (event.kind === 'process' && event.state === 'running') {
      this.pids.add(event.pid)
      this.running.set(`${event.role} ${event.rank}`, event.pid)
    }
    if (isRestart(event)) this.starts++
    for (const listener of [...this.#listeners]) listener()
  }

  /** Resolves when something is told that was not told before `from`. */
  async until(matches: (event: Event) => boolean, from: number, signal: AbortSignal): Promise<void> {
    let at = from
    await this.#wait(signal, () => {
      for (; at < this.told.length; at++) if (matches(this.told[at]!.event)) return true
      return false
    })
  }

  async #wait(signal: AbortSignal, isThere: () => boolean): Promise<void> {
    if (isThere()) return
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (signal.aborted) reject(signal.reason)
        else if (!isThere()) return
        this.#listeners.delete(look)
        signal.removeEventListener('abort', look)
        resolve()
      }
      this.#listeners.add(look)
      signal.addEventListener('abort', look)
      look()
    })
  }
}

function parsed(line: string): Event | undefined {
  try {
    return JSON.parse(line) as Event
  } catch {
    return undefined // what a process prints as it falls over
  }
}

export const isRestart = (event: Event): boolean =>
  event.kind === 'notice' && /^(Starting again|Going on from)/.test(event.message)
export const isCut = (event: Event): boolean => event.kind === 'saved' && /\bcut-/.test(event.path)

/** Waits for the moment of a fault; rejects when the job is over before it comes. `from`: of the timeline, what was told before does not count. */
export async function reach(
  fault: Fault,
  { timeline, saves, from, signal }: { timeline: Timeline; saves: string; from: number; signal: AbortSignal },
): Promise<void> {
  const told = (matches: (event: Event) => boolean) => timeline.until(matches, from, signal)
  const moments: { readonly [M in Moment]: () => Promise<void> } = {
    start: () => told(({ kind }) => kind === 'process' || kind === 'notice'),
    training: () =>
      told(
        (event) =>
          event.kind === 'batch' &&
          event.phase === 'train' &&
          (event.epoch > fault.epoch || (event.epoch === fault.epoch && event.batch >= fault.batch)),
      ),
    cut: () => untilWritten(saves, /^cut-.*tmp-/, signal),
    save: () => untilWritten(saves, /^\d+\.tmp-/, signal),
    evaluation: () => told((event) => event.kind === 'epochStart' && event.phase === 'infer'),
    recovery: () => told(isRestart),
    end: () => told(({ kind }) => kind === 'done'),
    // Not all that is saved for a change is saved under this name; and it may be over in a few milliseconds.
    change: async () => {
      const over = AbortSignal.any([signal, again(timeline, from, signal)])
      await untilWritten(saves, /^interrupted\.tmp-/, over).catch(() => signal.throwIfAborted())
    },
  }
  await moments[fault.moment]()
}

/** Aborted when the launcher starts the job again. */
function again(timeline: Timeline, from: number, signal: AbortSignal): AbortSignal {
  const has = new AbortController()
  timeline.until(isRestart, from, signal).then(
    () => has.abort(),
    () => undefined,
  )
  return has.signal
}

/** A folder of this name is being written. */
async function untilWritten(saves: string, name: RegExp, signal: AbortSignal): Promise<void> {
  while (!namesIn(saves).some((one) => name.test(one))) {
    if (signal.aborted) throw signal.reason
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
