/** @file A runner of class train: for each epoch, for each phase: train, report, save. */
import { performance } from 'node:perf_hooks'
import { phasesOf } from '../config/index.ts'
import { createParams, type PassResult, Runtime, shown } from '../train/index.ts'
import { DumpWriter } from './dump.ts'
import { filesInOrder, type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import { loadInitial, type SavedPhase, saveEpoch, stepSaver } from './saving.ts'

/** A phase with weights and threads of its own. */
interface OpenPhase extends SavedPhase {
  readonly runtime: Runtime
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

async function openPhase(context: RunnerContext, ready: ReadyPhase, folder: string): Promise<OpenPhase> {
  const { runner, emit, signal, engine } = context
  const { loaded, model, files, phase } = ready
  const { config } = loaded
  const threads = phase.thread_num
  const params = createParams(config, model, model, threads)
  if (runner.init_model_path !== '') await loadInitial(context, phase, params)
  const dump = runner.runner_result_dump_path !== ''
  const options = { config, model, files: { train: files }, params: params.handle, threads, engine, emit, signal, dump }
  return { ...ready, params, folder, runtime: await Runtime.open(options) }
}

async function trainEpoch(context: RunnerContext, open: OpenPhase, epoch: number): Promise<PassResult> {
  const { runner, emit } = context
  const path = runner.runner_result_dump_path
  const dump = path === '' ? undefined : new DumpWriter(`${path}_epoch_${epoch}${open.folder && `_${open.folder}`}`)
  const result = await open.runtime.pass('train', epoch, undefined, {
    ...(open.phase.shuffle_filelist && { files: filesInOrder(open, epoch) }),
    ...(runner.save_step_interval !== -1 && { afterBatch: stepSaver(context, open, epoch) }),
    ...(dump && { onReport: (report) => dump.add(report) }),
  })
  if (dump) emit({ kind: 'notice', message: `Dump runner result in ${shown(await dump.write())}` })
  return result
}

function added(result: RunnerResult, phase: string, { samples, seconds, metrics }: PassResult): RunnerResult {
  return {
    ...result,
    samples: result.samples + samples,
    seconds: result.seconds + seconds,
    metrics: { ...result.metrics, [phase]: metrics },
  }
}
