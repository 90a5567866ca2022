/** @file Entry of a trainer thread: one session per phase, one step per message. Session.run blocks this thread only. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Engine, nullEngine, ortEngine, referenceEngine } from '../engine/index.ts'
import { LocalParams } from '../params/index.ts'
import { toPlainError } from '../util/index.ts'
import { HostStep } from './host-step.ts'
import { type EngineName, type FromThread, PHASES, type Phase, type ThreadSettings, type ToThread } from './messages.ts'

const ENGINE_BY_NAME: { readonly [K in EngineName]: () => Engine } = {
  ort: ortEngine,
  reference: () => referenceEngine({ precision: 'float32' }),
  null: nullEngine,
}

await run(parentPort!, workerData as ThreadSettings)

async function run(port: MessagePort, settings: ThreadSettings): Promise<void> {
  const say = (message: FromThread) => port.postMessage(message)
  try {
    const params = new LocalParams(settings.params, settings.thread)
    const steps = await compile(settings, params)
    // Messages that arrive while a step runs wait in the port; steps stay in order.
    let queue = Promise.resolve()
    let failed = false
    port.on('message', (message: ToThread) => {
      queue = queue.then(async () => {
        if (failed) return
        try {
          say(await answer(message, steps[message.phase]!, params))
        } catch (error) {
          failed = true
          say({ kind: 'error', error: toPlainError(error) })
        }
      })
    })
    say({ kind: 'ready' })
  } catch (error) {
    say({ kind: 'error', error: toPlainError(error) })
  }
}

async function compile(settings: ThreadSettings, params: LocalParams): Promise<Partial<Record<Phase, HostStep>>> {
  const { programs, slots, metrics, segments, batchSizes, seed, clip } = settings
  const engine = ENGINE_BY_NAME[settings.engine]()
  const steps = await Promise.all(
    PHASES.filter((phase) => programs[phase]).map(async (phase) => {
      const program = programs[phase]!
      const session = await engine.compile(program)
      const shared = {
        params,
        slots,
        metrics,
        segments,
        seed,
        session,
        layout: params.dense.layout,
        ...(clip && { clip }),
      }
      return [
        phase,
        new HostStep({
          ...shared,
          program,
          batchSize: batchSizes[phase],
          training: phase === 'train',
        }),
      ] as const
    }),
  )
  return Object.fromEntries(steps)
}

async function answer(message: ToThread, step: HostStep, params: LocalParams): Promise<FromThread> {
  if (message.kind === 'finish') {
    const finished: FromThread = { kind: 'finish', histograms: step.histograms(), seconds: breakdown(step, params) }
    step.reset()
    Object.assign(params.denseSeconds, { pull: 0, push: 0 })
    return finished
  }
  const { phase, batch, report } = message
  const { index, size, fraction } = batch
  const result = await step.run(batch)
  return { kind: 'step', phase, index, size, fraction, result, ...(report && { histograms: step.histograms() }) }
}

/** Where the time went, in parts that do not overlap: dense weights are taken out of lookup and update. */
function breakdown({ seconds }: HostStep, { denseSeconds: { pull, push } }: LocalParams): Record<string, number> {
  return { ...seconds, lookup: seconds.lookup - pull, update: seconds.update - push, dense: pull + push }
}
