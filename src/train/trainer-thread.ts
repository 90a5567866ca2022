/** @file Entry of a trainer thread: sessions, and one step per message. Session.run blocks this thread only. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type Engine, nullEngine, ortEngine, referenceEngine } from '../engine/index.ts'
import { toPlainError } from '../util/index.ts'
import { DygraphStep, type WaitingBatch } from './dygraph-step.ts'
import { HostStep } from './host-step.ts'
import { type EngineName, type FromThread, PHASES, type Phase, type ThreadSettings, type ToThread } from './messages.ts'
import { PhaseSteps } from './phase-steps.ts'
import { openThreadParams, type ThreadParams } from './thread-params.ts'

const ENGINE_BY_NAME: { readonly [K in EngineName]: () => Engine } = {
  ort: ortEngine,
  reference: () => referenceEngine({ precision: 'float32' }),
  null: nullEngine,
}

await run(parentPort!, workerData as ThreadSettings)

async function run(port: MessagePort, settings: ThreadSettings): Promise<void> {
  const say = (message: FromThread) => port.postMessage(message)
  try {
    const params = await openThreadParams(settings)
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
  settings: ThreadSettings,
  paramsOf: Readonly<Record<Phase, ThreadParams>>,
  onNotice: (message: string) => void,
): Promise<Phases> {
  const { programs, slots, metrics, segments, batchSizes, seed, clip, shown, dump } = settings
  const engine = ENGINE_BY_NAME[settings.engine]()
  const dygraph = settings.dygraph && (await openModel(settings.dygraph))
  const phases = await Promise.all(
    PHASES.filter((phase) => programs[phase]).map(async (phase) => {
      const params = paramsOf[phase]
      const { layout, placement } = params
      const options = {
        ...{ params: params.params, slots, metrics, layout, segments, seed },
        ...(placement && { placement }),
        ...(clip && !params.clips && { clip }),
        ...(shown && { shown }),
        ...(dump && { dump }),
        batchSize: batchSizes[phase],
        training: phase === 'train',
      }
      if (dygraph) {
        return [
          phase,
          new PhaseSteps<WaitingBatch>([new DygraphStep({ ...options, dygraph, engine, onNotice })], params),
        ] as const
      }
      const program = programs[phase]!
      const session = await engine.compile(program)
      const steps = Array.from({ length: 1 + params.pullsAhead }, () => new HostStep({ ...options, program, session }))
      return [phase, new PhaseSteps(steps, params)] as const
    }),
  )
  return Object.fromEntries(phases)
}

/** Loading a user's file takes much that a thread without one does not need. */
async function openModel(place: NonNullable<ThreadSettings['dygraph']>) {
  const { openDygraph } = await import('../model/index.ts')
  return await openDygraph(place)
}

/** Messages in order. They are also taken off the port by hand, since it delivers none between two steps without a pause. */
function openInbox(port: MessagePort) {
  const waiting: ToThread[] = []
  let wake = () => {}
  port.on('message', (message: ToThread) => {
    waiting.push(message)
    wake()
  })
  const collect = () => {
    for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) waiting.push(got.message)
  }
  return {
    async next(): Promise<ToThread> {
      collect()
      while (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return waiting.shift()!
    },
    /** The message after this one, if it has come. */
    peek(): ToThread | undefined {
      collect()
      return waiting[0]
    },
  }
}
