/** @file Requests that belong to a trace: their methods are others, and before the body lies by which span they were sent. */
import { checkMessage, type Parts } from '../../base/net/index.ts'
import { epochMs, newSpanId, type TraceContext, type Tracer } from '../../base/trace/index.ts'
import { METHODS } from './protocol.ts'

const [TRACE_BYTES, SPAN_BYTES] = [16, 8]
/** What follows begins at a multiple of eight, as it would alone. */
export const CONTEXT_BYTES = TRACE_BYTES + SPAN_BYTES

type Traceable = 'pull' | 'push'
const TRACED = { pull: METHODS.tracedPull, push: METHODS.tracedPush } as const

/** A request as it is sent: as ever where no trace is asked for. */
export function tracedRequest(name: Traceable, parts: Parts, trace: TraceContext | undefined) {
  if (!trace) return { method: METHODS[name], parts }
  return { method: TRACED[name], parts: [Buffer.from(`${trace.traceId}${trace.spanId}`, 'hex'), ...parts] }
}

export interface TracedBody {
  readonly context: TraceContext
  readonly body: Uint8Array<ArrayBuffer>
}

export function readTraced(body: Uint8Array<ArrayBuffer>): TracedBody {
  checkMessage(body.byteLength > CONTEXT_BYTES, 'a trace without a request')
  const hex = Buffer.from(body.buffer, body.byteOffset, CONTEXT_BYTES).toString('hex')
  const context = { traceId: hex.slice(0, 2 * TRACE_BYTES), spanId: hex.slice(2 * TRACE_BYTES) }
  return { context, body: body.subarray(CONTEXT_BYTES) }
}

/** Notes what answering took, where this server has a tracer; the answer of a request that waits for others comes later. */
export function noteAnswer<T>(tracer: Tracer | undefined, name: Traceable, context: TraceContext, answer: () => T): T {
  if (!tracer) return answer()
  const begun = performance.now()
  const note = () => {
    const times = { startMs: epochMs(begun), endMs: epochMs(performance.now()) }
    const ids = { traceId: context.traceId, spanId: newSpanId(), parentSpanId: context.spanId }
    tracer.add({ ...ids, name: `serve ${name}`, kind: 'server', ...times, attributes: {} })
  }
  const result = answer()
  if (result instanceof Promise) void result.then(note, note)
  else note()
  return result
}
