/** @file What a call that works for a while returns: a promise of its result that can be watched event by event, and stopped. */
import { refuseTelemetry } from '../base/env/index.ts'
import type { Event, EventSink } from '../base/event/index.ts'
import { EventFeed, type WatchOptions } from './event-feed.ts'

/**
 * Work under way: `await` it for its result, or loop over its events first. It begins at the call; a loop sees what comes after the loop
 * began, and throws what the work throws. Leaving a loop early does not end the work.
 *
 * @example
 * const run = train({ config: 'config.yaml' })
 * for await (const event of run) if (event.kind === 'epoch') console.log(event.epoch, event.metrics)
 * const { metrics } = await run
 */
export interface Run<Result> extends Promise<Result>, AsyncIterable<Event>, AsyncDisposable {
  /** Asks for an end in good order, as aborting its signal does. */
  stop(): void
  /** Stops it and waits for its end: `await using run = ...`. What it throws is for those who await it. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What work is given of those who watch it. */
export interface Watched {
  readonly emit: EventSink
  readonly signal: AbortSignal
}

/** Begins `work` in a moment: a loop that is begun right after the call sees its first event. */
export function startRun<Result>(
  { onEvent, signal }: WatchOptions,
  work: (watched: Watched) => Promise<Result>,
): Run<Result> {
  const stop = new AbortController()
  const asked = () => stop.abort(signal?.reason)
  let failed: { readonly error: unknown } | undefined
  const feed = new EventFeed(onEvent, (error) => {
    failed ??= { error }
    stop.abort(error)
  })
  const begin = async (): Promise<Result> => {
    await undefined
    signal?.addEventListener('abort', asked, { once: true })
    if (signal?.aborted) asked()
    refuseTelemetry()
    try {
      const result = await work({ emit: feed.emit, signal: stop.signal })
      if (failed) throw failed.error
      feed.close()
      return result
    } catch (error) {
      feed.close({ error: failed?.error ?? error })
      throw failed?.error ?? error
    } finally {
      signal?.removeEventListener('abort', asked)
    }
  }
  return runOf(begin(), feed, stop)
}

function runOf<Result>(result: Promise<Result>, feed: EventFeed, stop: AbortController): Run<Result> {
  return {
    [Symbol.toStringTag]: 'Run',
    // biome-ignore lint/suspicious/noThenProperty: a run is awaited
    then: (done, failed) => result.then(done, failed),
    catch: (failed) => result.catch(failed),
    finally: (settled) => result.finally(settled),
    stop: () => stop.abort(),
    [Symbol.asyncIterator]: () => {
      result.catch(() => undefined) // the loop throws it
      return feed.loop()
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await result.catch(() => undefined)
    },
  }
}
