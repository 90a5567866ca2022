/** @file A server over a small model on a free port, and requests to it. */
import { rm } from 'node:fs/promises'
import type { Event } from '../../src/base/event/index.ts'
import { type Served, type ServeOptions, serve } from '../../src/inference/serve/index.ts'

export interface Running {
  readonly served: Served
  readonly events: readonly Event[]
  /** POST /predict; the answer's status and JSON. */
  predict(body: string | Uint8Array, type?: string): Promise<{ status: number; json: PredictAnswer }>
  get(path: string): Promise<{ status: number; text: string }>
}

export interface PredictAnswer {
  readonly scores: number[]
  readonly outputs: Record<string, number[][]>
  readonly epoch: number
  readonly error: { readonly code: string; readonly message: string; readonly hint: string }
}

const DEADLINE_MS = 60_000

export async function startServer(model: string, options: Partial<ServeOptions> = {}): Promise<Running> {
  const events: Event[] = []
  const served = await serve({
    model,
    port: 0,
    threads: 1,
    pollMs: 50,
    emit: (event) => events.push(event),
    ...options,
  })
  const signal = () => AbortSignal.timeout(DEADLINE_MS)
  return {
    served,
    events,
    predict: async (
      body,
      type = typeof body === 'string' && body.startsWith('{') ? 'application/json' : 'text/plain',
    ) => {
      const headers = { 'content-type': type }
      const response = await fetch(`${served.url}/predict`, { method: 'POST', body, headers, signal: signal() })
      return { status: response.status, json: (await response.json()) as PredictAnswer }
    },
    get: async (path) => {
      const response = await fetch(served.url + path, { signal: signal() })
      return { status: response.status, text: await response.text() }
    },
  }
}

/** Waits until `condition` holds, at most a minute. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + DEADLINE_MS
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export const remove = (folder: string) => rm(folder, { recursive: true, force: true })
