/** @file Events of something that runs, handed to a callback and to every loop over them. Knows nothing of what runs. */
import type { Event, EventSink } from '../base/event/index.ts'

/** How a call is watched and stopped. */
export interface WatchOptions {
  /** Called with every event, in order; what it throws ends the run with that error. @default events are not watched */
  readonly onEvent?: ((event: Event) => void) | undefined
  /** Aborting asks for an end in good order: the steps under way are finished and, while training, saved. */
  readonly signal?: AbortSignal | undefined
}

/** One source of events, any number of loops; each loop sees what comes after it began. */
export class EventFeed {
  readonly #onEvent: WatchOptions['onEvent']
  readonly #onError: (error: unknown) => void
  readonly #loops = new Set<EventLoop>()
  #end: { readonly error?: unknown } | undefined

  /** `onError` hears what the callback throws: to whoever emits an event that is no error of theirs. */
  constructor(onEvent: WatchOptions['onEvent'], onError: (error: unknown) => void) {
    this.#onEvent = onEvent
    this.#onError = onError
  }

  readonly emit: EventSink = (event) => {
    for (const loop of this.#loops) loop.push(event)
    try {
      this.#onEvent?.(event)
    } catch (error) {
      this.#onError(error)
    }
  }

  /** Loops end once they have seen all; with `error` they throw it then. */
  close(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end
    for (const loop of this.#loops) loop.close(this.#end)
  }

  loop(): AsyncIterator<Event> {
    const loop = new EventLoop(() => this.#loops.delete(loop))
    this.#loops.add(loop)
    if (this.#end) loop.close(this.#end)
    return loop
  }
}

class EventLoop implements AsyncIterator<Event> {
  readonly #left: () => void
  readonly #waiting: Event[] = []
  #wake: () => void = () => {}
  #end: { readonly error?: unknown } | undefined

  constructor(left: () => void) {
    this.#left = left
  }

  push(event: Event): void {
    this.#waiting.push(event)
    this.#wake()
  }

  close(end: { readonly error?: unknown }): void {
    this.#end ??= end
    this.#wake()
  }

  async next(): Promise<IteratorResult<Event>> {
    while (this.#waiting.length === 0 && !this.#end) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const value = this.#waiting.shift()
    if (value !== undefined) return { done: false, value }
    this.#left()
    if (this.#end && 'error' in this.#end) throw this.#end.error
    return { done: true, value: undefined }
  }

  /** The loop was left early: what runs goes on. */
  async return(): Promise<IteratorResult<Event>> {
    this.#left()
    return { done: true, value: undefined }
  }
}
