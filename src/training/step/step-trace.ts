/** @file A step as spans: the step, and within it load, lookup, pull, compute, merge and push; servers add theirs below pull and push. */
import { epochMs, newSpanId, type Span, type TraceContext, type Tracer } from '../../base/trace/index.ts'
import type { Batch } from '../../data/index.ts'

/** When its parts ended, as performance.now() says. */
export interface StepTimes {
  readonly begun: number
  readonly loaded: number
  readonly asked: number
  readonly pulled: number
  readonly gathered: number
  readonly computed: number
  readonly merged: number
  readonly done: number
}

export class StepTrace {
  readonly #tracer: Tracer
  readonly #root: TraceContext
  /** What requests to servers carry. */
  readonly pull: TraceContext
  readonly push: TraceContext

  /** Undefined where this step is not traced. */
  static begin(tracer: Tracer | undefined): StepTrace | undefined {
    const root = tracer?.begin()
    return root && new StepTrace(tracer!, root)
  }

  private constructor(tracer: Tracer, root: TraceContext) {
    this.#tracer = tracer
    this.#root = root
    this.pull = { traceId: root.traceId, spanId: newSpanId() }
    this.push = { traceId: root.traceId, spanId: newSpanId() }
  }

  end({ epoch, index, size }: Pick<Batch, 'epoch' | 'index' | 'size'>, times: StepTimes): void {
    const { traceId, spanId: parentSpanId } = this.#root
    const part = (name: string, from: number, to: number, own?: TraceContext): Span => ({
      traceId,
      spanId: own?.spanId ?? newSpanId(),
      parentSpanId,
      name,
      kind: own ? 'client' : 'internal',
      startMs: epochMs(from),
      endMs: epochMs(to),
      attributes: {},
    })
    const { begun, loaded, asked, pulled, gathered, computed, merged, done } = times
    const attributes = { 'oarfish.epoch': epoch, 'oarfish.batch': index, 'oarfish.samples': size }
    this.#tracer.add(
      { ...this.#root, name: 'step', kind: 'internal', startMs: epochMs(begun), endMs: epochMs(done), attributes },
      part('load', begun, loaded),
      part('lookup', loaded, asked),
      part('pull', asked, pulled, this.pull),
      part('gather', pulled, gathered),
      part('compute', gathered, computed),
      part('merge', computed, merged),
      part('push', merged, done, this.push),
    )
  }
}
