/** @file What the page asks of runs, over HTTP: answers about the runs of some folders, sent zipped and made once for all who look. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type AnswerOptions, Answers } from './answers.ts'
import { LiveFeed } from './live.ts'
import { SAFE_HEADERS, sendJson, takesGzip } from './send.ts'

export interface RunApi {
  /** `path` is what follows `/api/` of the address, in parts. */
  respond(request: IncomingMessage, response: ServerResponse, path: readonly string[], query: URLSearchParams): void
  readonly answers: Answers
  close(): void
}

export function openRunApi(options: AnswerOptions): RunApi {
  const answers = new Answers(options)
  const live = new LiveFeed((topic) => answers.stamp(topic))
  const kept: Kept = new Map()
  return {
    answers,
    respond: (request, response, [what, id = '', part, process = ''], query) => {
      const whole = (topic: string, make: () => unknown) => keep(request, response, { answers, kept, topic, make })
      if (what === 'live') return live.add(id, response)
      if (what === 'runs' && id === '') return whole('', () => answers.index.list())
      if (what === 'runs' && part === undefined) return whole(id, () => answers.detail(id))
      if (what === 'runs' && part === 'logs') return orNone(request, response, answers.log(id, process, query))
      if (what === 'charts') return whole(id, () => answers.charts(id.split(','), query))
      sendJson(request, response, 404, { error: 'There is no such address.' })
    },
    close: () => live.close(),
  }
}

/** Answers by address, as they were sent. */
type Kept = Map<string, { readonly stamp: string; readonly body: Buffer }>

interface Asked {
  readonly answers: Answers
  readonly kept: Kept
  /** What it is made of; several runs are asked one by one. */
  readonly topic: string
  readonly make: () => unknown
}

const MOST_KEPT = 200
const MOST_KEPT_BYTES = 64 << 20

/** What 200 people look at is made once. */
function keep(request: IncomingMessage, response: ServerResponse, { answers, kept, topic, make }: Asked) {
  const stamp = topic
    .split(',')
    .map((one) => answers.stamp(one))
    .join('\n')
  const key = request.url!
  const known = kept.get(key)
  if (known?.stamp === stamp) return sendZipped(request, response, known.body)
  const value = make()
  if (value === undefined) return orNone(request, response, undefined)
  const body = gzipSync(JSON.stringify(value), { level: 1 })
  kept.delete(key)
  kept.set(key, { stamp, body })
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.body.length, 0)
  for (const [oldest, one] of kept) {
    if (kept.size <= MOST_KEPT && bytes <= MOST_KEPT_BYTES) break
    kept.delete(oldest)
    bytes -= one.body.length
  }
  sendZipped(request, response, body)
}

/** Every browser takes gzip; curl does when it is asked to. */
function sendZipped(request: IncomingMessage, response: ServerResponse, zipped: Buffer): void {
  const isZipped = takesGzip(request)
  const encoding = isZipped ? { 'content-encoding': 'gzip' } : {}
  response.writeHead(200, { ...SAFE_HEADERS, 'content-type': 'application/json', ...encoding })
  response.end(request.method === 'HEAD' ? undefined : isZipped ? zipped : gunzipSync(zipped))
}

function orNone(request: IncomingMessage, response: ServerResponse, value: unknown): void {
  if (value === undefined) sendJson(request, response, 404, { error: 'There is no such run, or it has no such log.' })
  else sendJson(request, response, 200, value)
}
