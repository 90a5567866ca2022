/** @file serve(): a model behind HTTP for as long as the program wants it. */
import { refuseTelemetry } from '../base/env/index.ts'
import type { Event } from '../base/event/index.ts'
import type { ServingOptions } from '../inference/serve/index.ts'
import { EventFeed, type WatchOptions } from './event-feed.ts'

/** Options of serve. */
export interface ServeOptions extends ServingOptions, WatchOptions {
  /** Where to listen; 0 for any free port. @default 0 */
  readonly port?: number | undefined
}

/** A model that answers; loop over it for its events, until it is closed. */
export interface Server extends AsyncIterable<Event>, AsyncDisposable {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly port: number
  /** Takes no more connections, answers what was asked, then ends. */
  close(): Promise<void>
  /** Resolves once it is closed, by close() or by the signal. */
  readonly closed: Promise<void>
}

/**
 * Serves an export over HTTP: POST /predict, GET /healthz and /metrics. A newer export is taken up without a gap.
 *
 * @example
 * await using server = await serve({ model: 'exported', port: 8080 })
 * console.log(server.url)
 */
export async function serve({ onEvent, signal, port = 0, ...options }: ServeOptions): Promise<Server> {
  signal?.throwIfAborted()
  refuseTelemetry()
  const { serve: open } = await import('../inference/serve/index.ts')
  const feed = new EventFeed(onEvent, (error) =>
    queueMicrotask(() => {
      throw error
    }),
  )
  const served = await open({ ...options, port, emit: feed.emit })
  let closing: Promise<void> | undefined
  let settle: () => void = () => {}
  const closed = new Promise<void>((resolve) => {
    settle = resolve
  })
  const close = () => {
    closing ??= served.close().finally(() => {
      signal?.removeEventListener('abort', close)
      feed.close()
      settle()
    })
    return closing
  }
  signal?.addEventListener('abort', close, { once: true })
  if (signal?.aborted) await close()
  return {
    url: served.url,
    port: served.port,
    close,
    closed,
    [Symbol.asyncIterator]: () => feed.loop(),
    [Symbol.asyncDispose]: close,
  }
}
