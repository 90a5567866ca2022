/** @file Entry of a trainer thread: sessions, and one step per message. Session.run blocks this thread only. */
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import 'onnxruntime-node' // now, while the main thread prepares what to compute
import type { Device } from '../../base/device/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { openTracer, type Tracer } from '../../base/trace/index.ts'
import { threadRehearsal, threadSettings, toPlainError } from '../../base/util/index.ts'
import { type Engine, nullEngine, ortEngine, referenceEngine } from '../../graph/engine/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { type AucHistogram, mergedGroups } from '../../weights/metric/index.ts'
import {
  addHistograms,
  addSeconds,
  CutSequences,
  DygraphStep,
  HostStep,
  hostGraph,
  noSeconds,
  type PreparedStep,
  type Step,
  type StepSeconds,
  type WaitingBatch,
} from '../step/index.ts'
import { gated } from './gate.ts'
import {
  type EngineName,
  type FromTrainerThread,
  PHASES,
  type Phase,
  type ToTrainerThread,
  type TrainerThreadSettings,
} from './messages.ts'
import { StaleCount } from './stale-count.ts'
import { openThreadParams, type ThreadParams } from './thread-params.ts'

const ENGINE_BY_NAME: { readonly [K in EngineName]: (device: Device) => Engine } = {
  ort: (device) => ortEngine({ device }),
  reference: () => referenceEngine({ precision: 'float32' }),
  null: nullEngine,
}

async function run(port: MessagePort, settings: TrainerThreadSettings): Promise<void> {
  const say = (message: FromTrainerThread) => port.postMessage(message)
  try {
    const params = await openThreadParams(settings)
    if (params.train.notice !== undefined) say({ kind: 'notice', message: params.train.notice })
    const phases = await compile(settings, params, (message) => say({ kind: 'notice', message }))
    const inbox = openInbox(port)
    say({ kind: 'ready' })
    for (;;) {
      const message = await inbox.next()
      // A batch that waits behind this one is asked for before this one is computed, so that both go on at once.
      say(await phases[message.phase]!.answer(message, inbox.peek))
    }
  } catch (error) {
    say({ kind: 'error', error: toPlainError(error) })
  }
}

type Phases = Partial<Record<Phase, Pick<PhaseSteps, 'answer'>>>

async function compile(
  settings: TrainerThreadSettings,
  paramsOf: Readonly<Record<Phase, ThreadParams>>,
  onNotice: (message: string) => void,
): Promise<Phases> {
  const { programs, slots, metrics, segments, seed, clip, showClick, dump } = settings
  const shared = { slots, metrics, segments, seed, showClick, dump }
  const engine = gated(ENGINE_BY_NAME[settings.engine](settings.device), settings.gate)
  const dygraph = settings.dygraph && (await openModel(settings.dygraph))
  const who = { 'oarfish.role': 'trainer', 'oarfish.rank': Number(processEnv()['PADDLE_TRAINER_ID'] ?? 0) }
  const tracer = openTracer(processEnv(), { ...who, 'oarfish.thread': settings.thread })
  const phases = await Promise.all(
    PHASES.filter((phase) => programs[phase]).map(async (phase) => {
      const own = paramsOf[phase]
      const { params, layout, placement, clips, pullsAhead } = own
      const [batchSize, training] = [settings.batchSizes[phase], phase === 'train']
      const clipped = { clip: clips ? undefined : clip }
      const options = { ...shared, params, layout, placement, ...clipped, batchSize, training, tracer }
      if (dygraph) {
        const step = new DygraphStep({ ...options, dygraph, engine, onNotice })
        return [phase, new PhaseSteps<WaitingBatch>([step], own, undefined, tracer)] as const
      }
      const program = programs[phase]!
      const graph = own.graph ?? hostGraph(await engine.compile(program))
      const steps = Array.from({ length: 1 + pullsAhead }, () => new HostStep({ ...options, program, graph }))
      const watch = { cuts: new CutSequences(program, slots), onNotice }
      return [phase, new PhaseSteps(steps, own, watch, tracer)] as const
    }),
  )
  return Object.fromEntries(phases)
}

/** Loading a user's file takes much that a thread without one does not need. */
async function openModel(place: NonNullable<TrainerThreadSettings['dygraph']>) {
  const { openDygraph } = await import('../../model/index.ts')
  return await openDygraph(place)
}

/** Messages in order. They are also taken off the port by hand, since it delivers none between two steps without a pause. */
function openInbox(port: MessagePort) {
  const waiting: ToTrainerThread[] = []
  let wake = () => {}
  port.on('message', (message: ToTrainerThread) => {
    waiting.push(message)
    wake()
  })
  const collect = () => {
    for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) waiting.push(got.message)
  }
  return {
    async next(): Promise<ToTrainerThread> {
      collect()
      while (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return waiting.shift()!
    },
    /** The message after this one, if it has come. */
    peek(): ToTrainerThread | undefined {
      collect()
      return waiting[0]
    },
  }
}

type StepMessage = Extract<ToTrainerThread, { kind: 'step' }>

/** What is looked for in the batches of a phase, and how it is said. */
interface BatchWatch {
  readonly cuts: CutSequences
  readonly onNotice: (message: string) => void
}

/** One phase: steps in order, the next batch prepared while one is computed where that is allowed. */
class PhaseSteps<Prepared extends { readonly pulled: void | Promise<void> } = PreparedStep> {
  /** As many as batches may be prepared at once; each has buffers of its own. */
  readonly #steps: readonly Step<Prepared>[]
  readonly #params: ThreadParams
  readonly #prepared: { message: StepMessage; step: Step<Prepared>; prepared: Prepared }[] = []
  readonly #watch: BatchWatch | undefined
  readonly #stale = new StaleCount()
  readonly #tracer: Tracer | undefined
  #turn = 0

  constructor(steps: readonly Step<Prepared>[], params: ThreadParams, watch?: BatchWatch, tracer?: Tracer) {
    this.#tracer = tracer
    this.#steps = steps
    this.#params = params
    this.#watch = watch
  }

  async answer(message: ToTrainerThread, peek: () => ToTrainerThread | undefined): Promise<FromTrainerThread> {
    if (message.kind === 'finish') return this.#finish(message.stopping ?? false)
    if (message.kind === 'touched') return { kind: 'touched', touched: this.#params.touched() }
    if (message.kind === 'begin' || message.kind === 'end') {
      const rows = this.#params.passRows!
      return { kind: 'moved', moved: await (message.kind === 'begin' ? rows.begin(message.side) : rows.end()) }
    }
    if (message.kind === 'skip') {
      await this.#params.skip()
      return { kind: 'skip' }
    }
    if (message.stopping) this.#params.announce?.()
    if (this.#prepared.length === 0) this.#prepare(message)
    const { step, prepared } = this.#prepared[0]!
    await prepared.pulled
    const next = this.#prepared.length < this.#steps.length ? peek() : undefined
    if (next?.kind === 'step' && next.phase === message.phase) this.#prepare(next)
    const result = await step.complete(prepared)
    this.#prepared.shift()
    const { phase, batch, report } = message
    const { index, size, slice, fraction } = batch
    this.#stale.add(result.step ?? 0)
    const measured = report
      ? { histograms: this.#histograms(), seconds: { ...this.#seconds() }, ...this.#travelled() }
      : {}
    const stopping = this.#params.stopping?.()
    return { kind: 'step', phase, index, size, slices: slice?.count, fraction, result, ...measured, stopping }
  }

  #prepare(message: StepMessage): void {
    this.#watch?.cuts.look(message.batch)
    const step = this.#steps[this.#turn++ % this.#steps.length]!
    const prepared = step.prepare(message.batch)
    // Thrown by whoever waits for it; until then it must not end the thread.
    if (prepared.pulled instanceof Promise) prepared.pulled.catch(() => undefined)
    this.#prepared.push({ message, step, prepared })
  }

  #travelled(): Pick<Extract<FromTrainerThread, { kind: 'step' }>, 'links' | 'stale'> {
    const { links } = this.#params.params
    return { ...(links ? { links: links.map((link) => ({ ...link })) } : {}), stale: this.#stale.sum }
  }

  async #finish(stopping: boolean): Promise<FromTrainerThread> {
    const cut = this.#watch?.cuts.message()
    if (cut) this.#watch!.onNotice(cut)
    await this.#params.params.flush()
    await this.#params.drain?.(stopping)
    // The thread may be ended after this.
    await this.#tracer?.flush()
    const histograms = this.#histograms()
    const groups = mergedGroups(this.#steps.map((step) => step.groups()))
    const sum = this.#seconds()
    for (const step of this.#steps) step.reset()
    this.#stale.reset()
    return { kind: 'finish', histograms, groups, seconds: this.#params.breakdown(sum) }
  }

  #seconds(): StepSeconds {
    const sum = noSeconds()
    for (const step of this.#steps) addSeconds(sum, step.seconds)
    return sum
  }

  #histograms(): Record<string, AucHistogram> {
    const sum: Record<string, AucHistogram> = {}
    for (const step of this.#steps) addHistograms(sum, step.histograms())
    return sum
  }
}

/** The first session of a thread takes several times as long as the next. */
async function rehearse(programs: readonly Program[]): Promise<void> {
  const engine = ortEngine()
  for (const program of programs) await (await engine.compile(program)).close()
}

await rehearse(threadRehearsal<readonly Program[]>() ?? []).catch(() => undefined) // what is wrong is said when it counts
await run(parentPort!, threadSettings<TrainerThreadSettings>())
