/** @file A runner of class train: in each epoch every phase is trained, reported and saved. */
import { phasesOf } from '../../base/config/index.ts'
import type { Metrics } from '../../base/event/index.ts'
import { shown } from '../../base/util/index.ts'
import { type TrainingJob, train } from '../../training/driver/index.ts'
import { beginningOf, createParams, type PassResult, Runtime } from '../../training/threads/index.ts'
import { filesInOrder, type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import {
  DumpWriter,
  holdSaving,
  loadInitial,
  type SavedPhase,
  type SavingContext,
  saveEpoch,
  stepSaver,
} from './saving.ts'

export async function trainRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal, engine } = context
  const ready: ReadyPhase[] = []
  for (const phase of phasesOf(config.config, runner)) ready.push(await readyPhase(context, phase))
  const { loaded } = ready[0]!
  const rules = { settings: settingsOf(context, ready[0]!) }
  const held = await holdSaving(context)
  const job = new PhasesJob({ ...context, held }, ready)
  try {
    const { samples, seconds } = await train({ config: loaded, emit, signal, engine, rules }, () => job)
    return { runner: runner.name, samples, seconds, metrics: job.metrics }
  } finally {
    held.release()
  }
}

/** A phase with weights and threads of its own. */
interface OpenPhase extends SavedPhase {
  readonly runtime: Runtime
}

/** Training alone, of several models in turn: a pass of the driver is one of every phase. */
class PhasesJob implements TrainingJob {
  readonly evaluates = false
  /** Of the last epoch, by phase. */
  readonly metrics: Record<string, Metrics> = {}
  readonly #context: SavingContext
  readonly #ready: readonly ReadyPhase[]
  readonly #open: OpenPhase[] = []

  constructor(context: SavingContext, ready: readonly ReadyPhase[]) {
    this.#context = context
    this.#ready = ready
  }

  async prepare(): Promise<void> {}

  async load() {
    const several = this.#ready.length > 1
    for (const ready of this.#ready)
      this.#open.push(await openPhase(this.#context, ready, several ? ready.phase.name : ''))
    return beginningOf(0)
  }

  async open(): Promise<void> {}

  /** PaddleRec 1.x saves each phase before it trains the next. */
  async pass(_: 'train' | 'infer', epoch: number): Promise<PassResult> {
    let sum: PassResult | undefined
    for (const open of this.#open) {
      const trained = await trainEpoch(this.#context, open, epoch)
      this.metrics[open.phase.name] = trained.metrics
      const { samples = 0, seconds = 0 } = sum ?? {}
      sum = { ...trained, samples: samples + trained.samples, seconds: seconds + trained.seconds }
      if (trained.interrupted) break
      await saveEpoch(this.#context, open, epoch, trained.metrics)
    }
    return sum!
  }

  async save(): Promise<undefined> {}

  async saveInterrupted() {
    return {}
  }

  async digest(): Promise<undefined> {}

  async close(): Promise<void> {
    await Promise.all(this.#open.map(({ runtime }) => runtime.close()))
  }
}

async function openPhase(context: RunnerContext, ready: ReadyPhase, folder: string): Promise<OpenPhase> {
  const { runner, emit, signal, engine } = context
  const { loaded, model, files, phase } = ready
  const { config } = loaded
  const threads = phase.thread_num
  const params = createParams(config, model, model, threads)
  if (runner.init_model_path !== '') await loadInitial(context, phase, params)
  const trainers = { params: params.handle, threads, dump: runner.runner_result_dump_path !== '' }
  const runtime = await Runtime.open({ config, model, files: { train: files }, trainers, engine, emit, signal })
  return { ...ready, params, folder, runtime }
}

async function trainEpoch(context: SavingContext, open: OpenPhase, epoch: number): Promise<PassResult> {
  const { runner, emit } = context
  const path = runner.runner_result_dump_path
  const dump = path === '' ? undefined : new DumpWriter(`${path}_epoch_${epoch}${open.folder && `_${open.folder}`}`)
  const result = await open.runtime.pass('train', epoch, {
    input: { files: filesInOrder(open, epoch) },
    hooks: {
      afterBatch: runner.save_step_interval === -1 ? undefined : stepSaver(context, open, epoch),
      onReport: dump && ((report) => dump.add(report)),
    },
  })
  if (dump) emit({ kind: 'notice', message: `Dump runner result in ${shown(await dump.write())}` })
  return result
}
