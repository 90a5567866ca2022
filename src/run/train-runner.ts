/** @file A runner of class train: for each epoch, for each phase: train, report, save. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { phasesOf } from '../config/index.ts'
import type { Metrics } from '../event/index.ts'
import type { LocalParams } from '../params/index.ts'
import { programHash } from '../program/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../snapshot/index.ts'
import { createParams, exportParams, type PassResult, Runtime, shown } from '../train/index.ts'
import { createRng, deriveSeed } from '../util/index.ts'
import { DumpWriter } from './dump.ts'
import { type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import { savesAfter } from './save-rule.ts'

/** A phase with weights and threads of its own. */
interface OpenPhase extends ReadyPhase {
  readonly params: LocalParams
  readonly runtime: Runtime
  /** Below the runner's folders, where several phases would write the same. */
  readonly folder: string
}

export async function trainRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal } = context
  const started = performance.now()
  const phases = phasesOf(config.config, runner)
  const ready: ReadyPhase[] = []
  for (const phase of phases) ready.push(await readyPhase(context, phase))
  emit({
    kind: 'start',
    command: 'train',
    model: ready[0]!.loaded.config.model!,
    settings: settingsOf(context, ready[0]!),
  })
  const open: OpenPhase[] = []
  let result: RunnerResult = { runner: runner.name, samples: 0, seconds: 0, metrics: {} }
  try {
    for (const phase of ready) open.push(await openPhase(context, phase, ready.length > 1 ? phase.phase.name : ''))
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
    for (let epoch = 0; epoch < runner.epochs && !signal.aborted; epoch++) {
      for (const phase of open) {
        const trained = await trainEpoch(context, phase, epoch)
        result = added(result, phase.phase.name, trained)
        if (trained.interrupted) {
          emit({ kind: 'interrupted', epoch, batch: trained.lastBatch, samples: trained.meter.samples })
          break
        }
        await saveEpoch(context, phase, epoch, trained.metrics)
      }
    }
  } finally {
    await Promise.all(open.map(({ runtime }) => runtime.close()))
  }
  return result
}

async function openPhase({ runner, emit, signal, engine }: RunnerContext, ready: ReadyPhase, folder: string) {
  const { loaded, model, files, phase } = ready
  const { config } = loaded
  const threads = phase.thread_num
  const params = createParams(config, model, model, threads)
  if (runner.init_model_path !== '') {
    const own = join(runner.init_model_path, phase.name)
    const from = existsSync(own) ? own : runner.init_model_path
    const snapshot = await openSnapshot(from, `runner.${runner.name}.init_model_path`)
    await loadSnapshot({ snapshot, params, emit, otherOptimizer: 'weights' })
    emit({ kind: 'loaded', path: shown(from), epoch: snapshot.manifest.position.epoch - 1 })
  }
  const dump = runner.runner_result_dump_path !== ''
  const options = { config, model, files: { train: files }, params: params.handle, threads, engine, emit, signal, dump }
  return { ...ready, params, folder, runtime: await Runtime.open(options) }
}

async function trainEpoch(context: RunnerContext, open: OpenPhase, epoch: number): Promise<PassResult> {
  const { runner, emit } = context
  const { phase, files } = open
  const path = runner.runner_result_dump_path
  const dump = path === '' ? undefined : new DumpWriter(`${path}_epoch_${epoch}${open.folder && `_${open.folder}`}`)
  const result = await open.runtime.pass('train', epoch, undefined, {
    ...(phase.shuffle_filelist && { files: shuffled(files, runner.seed, epoch) }),
    ...(runner.save_step_interval !== -1 && { afterBatch: stepSaver(context, open, epoch) }),
    ...(dump && { onReport: (report) => dump.add(report) }),
  })
  if (dump) emit({ kind: 'notice', message: `Dump runner result in ${shown(await dump.write())}` })
  return result
}

/** Another order in each epoch, the same in each run. */
function shuffled(files: readonly string[], seed: number, epoch: number): readonly string[] {
  const rng = createRng(deriveSeed(seed, `files ${epoch}`))
  const order = [...files]
  for (let i = order.length - 1; i > 0; i--) {
    const j = rng.below(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}

function stepSaver(context: RunnerContext, open: OpenPhase, epoch: number) {
  const { save_step_interval, save_step_path } = context.runner
  return (batch: number) => {
    if (batch % save_step_interval !== 0) return undefined
    const name = `epoch_${epoch}_batch_${batch}`
    return () =>
      save(context, open, { folder: join(save_step_path, name, open.folder), epoch, batch: batch + 1, metrics: {} })
  }
}

/** A checkpoint first, then a model for inference, each by its own interval. */
async function saveEpoch(context: RunnerContext, open: OpenPhase, epoch: number, metrics: Metrics): Promise<void> {
  const { runner, emit } = context
  const { save_checkpoint_path, save_checkpoint_interval, save_inference_path, save_inference_interval } = runner
  if (save_checkpoint_path !== '' && savesAfter(epoch, runner.epochs, save_checkpoint_interval)) {
    const folder = join(save_checkpoint_path, String(epoch), open.folder)
    await save(context, open, { folder, epoch, batch: 0, metrics })
  }
  if (save_inference_path !== '' && savesAfter(epoch, runner.epochs, save_inference_interval)) {
    const { loaded, model, params, files } = open
    const folder = join(save_inference_path, String(epoch), open.folder)
    await exportParams({ config: loaded.config, model, params, files: { train: files }, folder, epoch, emit })
  }
}

interface Saved {
  readonly folder: string
  readonly epoch: number
  /** Batches of the epoch that are in it; 0: all. */
  readonly batch: number
  readonly metrics: Metrics
}

async function save({ runner, emit }: RunnerContext, open: OpenPhase, { folder, epoch, batch, metrics }: Saved) {
  const whole = batch === 0
  const position = { epoch: whole ? epoch + 1 : epoch, batch, chunk: 0, sample: 0 }
  const state = { program: programHash(open.model.train), seed: runner.seed, metrics, position }
  const took = await saveSnapshot({ folder, params: open.params, state, emit })
  emit({ kind: 'saved', path: shown(folder), epoch, ...(!whole && { batch: batch - 1 }), ...took })
}

function added(result: RunnerResult, phase: string, { samples, seconds, metrics }: PassResult): RunnerResult {
  return {
    ...result,
    samples: result.samples + samples,
    seconds: result.seconds + seconds,
    metrics: { ...result.metrics, [phase]: metrics },
  }
}
