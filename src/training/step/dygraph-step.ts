/** @file One step of a dynamic model: traces it on the batch, finds or compiles its session, runs it as any other step. */
import { performance } from 'node:perf_hooks'
import type { Batch } from '../../data/index.ts'
import type { Engine } from '../../graph/engine/index.ts'
import { SessionCache, type Traced, type TracePhase } from '../../graph/lazy/index.ts'
import type { TensorValues } from '../../graph/program/index.ts'
import type { Dygraph } from '../../model/index.ts'
import { type AucHistogram, type MetricSpec, mergedGroups } from '../../weights/metric/index.ts'
import { HostStep, type HostStepOptions, type Step } from './host-step.ts'
import { hostGraph } from './step-graph.ts'
import { addHistograms, addSeconds, noSeconds, type StepResult, type StepSeconds } from './step-result.ts'

/** Programs kept compiled, each with buffers for a batch. */
const DYGRAPH_SESSIONS = 64

export interface DygraphStepOptions extends Omit<HostStepOptions, 'program' | 'graph'> {
  readonly dygraph: Dygraph
  readonly engine: Engine
  readonly onNotice: (message: string) => void
  /** @default DYGRAPH_SESSIONS */
  readonly sessions?: number
}

/** A batch that waits for its step. Nothing is asked for ahead: what it needs is known when it is traced. */
export interface WaitingBatch {
  readonly batch: Batch
  readonly pulled: undefined
}

export class DygraphStep implements Step<WaitingBatch> {
  readonly #options: DygraphStepOptions
  readonly #phase: TracePhase
  readonly #steps: SessionCache<HostStep>
  /** Settles when every read asked for is done. */
  #reads: Promise<unknown> = Promise.resolve()
  #traceSeconds = 0
  #readSeconds = 0
  /** What steps that are gone had measured. */
  #gone: Gone = nothing()

  constructor(options: DygraphStepOptions) {
    const { training, onNotice, sessions: size = DYGRAPH_SESSIONS } = options
    this.#options = options
    this.#phase = training ? 'training' : 'inference'
    this.#steps = new SessionCache({
      size,
      drop: (step) => this.#drop(step),
      onOverflow: (dropped) => onNotice(overflow(size, dropped)),
    })
  }

  prepare(batch: Batch): WaitingBatch {
    return { batch, pulled: undefined }
  }

  async complete({ batch }: WaitingBatch): Promise<StepResult> {
    const started = performance.now()
    const readBefore = this.#readSeconds
    const evaluate = (prefix: Traced) => this.#read(prefix, batch)
    const traced = await this.#options.dygraph.trace({ phase: this.#phase, evaluate })
    await this.#reads
    const step = await this.#compiled(traced)
    this.#traceSeconds += (performance.now() - started) / 1000 - (this.#readSeconds - readBefore)
    return step.run(batch)
  }

  get seconds(): StepSeconds {
    const sum = { ...this.#gone.seconds, trace: this.#traceSeconds, read: this.#readSeconds }
    for (const step of this.#steps.entries()) addSeconds(sum, step.seconds)
    return sum
  }

  histograms(): Record<string, AucHistogram> {
    const sum: Record<string, AucHistogram> = {}
    addHistograms(sum, this.#gone.histograms)
    for (const step of this.#steps.entries()) addHistograms(sum, step.histograms())
    return sum
  }

  groups(): Record<string, Float64Array> {
    return mergedGroups([this.#gone.groups, ...[...this.#steps.entries()].map((step) => step.groups())])
  }

  reset(): void {
    this.#gone = nothing()
    this.#traceSeconds = 0
    this.#readSeconds = 0
    for (const step of this.#steps.entries()) step.reset()
  }

  /** One read at a time, also of a model that asks for several at once or does not wait for them. */
  #read(prefix: Traced, batch: Batch): Promise<TensorValues> {
    const values = this.#reads.then(async () => {
      const started = performance.now()
      const step = await this.#compiled(prefix)
      const read = await step.read(batch)
      this.#readSeconds += (performance.now() - started) / 1000
      return read
    })
    this.#reads = values.catch(() => undefined)
    return values
  }

  #compiled({ key, build }: Traced): Promise<HostStep> {
    return this.#steps.get(key, async () => {
      const { engine, metrics, ...options } = this.#options
      const program = build()
      const fetched = new Set(program.fetches.map(({ name }) => name))
      const measured = metrics.filter((metric) => fetched.has(fetchOf(metric)))
      const graph = hostGraph(await engine.compile(program))
      return new HostStep({ ...options, program, metrics: measured, graph })
    })
  }

  async #drop(step: HostStep): Promise<void> {
    addHistograms(this.#gone.histograms, step.histograms())
    this.#gone.groups = mergedGroups([this.#gone.groups, step.groups()])
    addSeconds(this.#gone.seconds, step.seconds)
    await step.close()
  }
}

interface Gone {
  readonly histograms: Record<string, AucHistogram>
  groups: Record<string, Float64Array>
  readonly seconds: StepSeconds
}

function nothing(): Gone {
  return { histograms: {}, groups: {}, seconds: noSeconds() }
}

/** The fetch that a step has if it measures this. */
function fetchOf(metric: MetricSpec): string {
  if (metric.kind === 'ratio') return metric.above
  return metric.kind === 'mean' ? metric.value : metric.prediction
}

function overflow(size: number, dropped: number): string {
  const gone = dropped === 1 ? 'the longest unused was dropped' : `${dropped} were dropped so far`
  return `The model traced more than ${size} different graphs: ${gone}. Each new one is compiled, which takes far longer than a step; let lengths and counts that come from data take few values, for example powers of two.`
}
