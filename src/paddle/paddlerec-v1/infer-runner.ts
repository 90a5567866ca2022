/** @file A runner of class infer: every saved model below init_model_path, in numeric order, over the data of each phase. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { phasesOf } from '../../base/config/index.ts'
import type { Metrics } from '../../base/event/index.ts'
import { shown } from '../../base/util/index.ts'
import { optimizersOf } from '../../training/driver/index.ts'
import { createParams, type PassResult, Runtime } from '../../training/threads/index.ts'
import { loadSnapshot, openSnapshot } from '../../weights/snapshot/index.ts'
import { type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import { DumpWriter } from './saving.ts'

export async function inferRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal } = context
  const started = performance.now()
  const folders = await savedModels(runner.init_model_path)
  if (runner.epochs > 1) {
    const message = `runner.${runner.name}.epochs: infer reads the data once for each saved model`
    emit({ kind: 'notice', message })
  }
  const metrics: Record<string, Metrics> = {}
  let [samples, seconds] = [0, 0]
  for (const phase of phasesOf(config.config, runner)) {
    const ready = await readyPhase(context, phase)
    const { model } = ready.loaded.config
    emit({ kind: 'start', command: 'infer', model: model!, settings: settingsOf(context, ready) })
    emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
    for (const [i, folder] of folders.entries()) {
      if (signal.aborted) break
      const name = basename(folder)
      const epoch = /^\d+$/.test(name) ? Number(name) : i
      // One file for each, where there are several.
      const dumpPath = `${runner.runner_result_dump_path}${folders.length > 1 ? `_epoch_${name}` : ''}`
      const result = await evaluate(context, ready, { folder, epoch, dumpPath })
      metrics[`${phase.name}/${name}`] = result.metrics
      samples += result.samples
      seconds += result.seconds
    }
  }
  return { runner: runner.name, samples, seconds, metrics }
}

interface SavedModel {
  readonly folder: string
  readonly epoch: number
  readonly dumpPath: string
}

async function evaluate(
  context: RunnerContext,
  ready: ReadyPhase,
  { folder, epoch, dumpPath }: SavedModel,
): Promise<PassResult> {
  const { runner, emit, signal, engine } = context
  const { loaded, model, files, phase } = ready
  const { config } = loaded
  const own = join(folder, phase.name)
  const from = existsSync(own) ? own : folder
  const snapshot = await openSnapshot(from, `runner.${runner.name}.init_model_path`)
  const threads = phase.thread_num
  const params = createParams(config, model, optimizersOf(snapshot.manifest), threads)
  await loadSnapshot({ snapshot, params, emit })
  emit({ kind: 'loaded', path: shown(from), epoch })
  const dump = runner.runner_result_dump_path === '' ? undefined : new DumpWriter(dumpPath)
  const trainers = { params: params.handle, threads, dump: dump !== undefined }
  const runtime = await Runtime.open({ config, model, files: { infer: files }, trainers, engine, emit, signal })
  try {
    const result = await runtime.pass('infer', epoch, { hooks: { onReport: dump && ((report) => dump.add(report)) } })
    if (dump) emit({ kind: 'notice', message: `Dump runner result in ${shown(await dump.write())}` })
    return result
  } finally {
    await runtime.close()
  }
}

/** The sub-folders, numbers in their order, or the folder itself where it has none. */
async function savedModels(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  if (folders.length === 0) return [path]
  return folders.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map((name) => join(path, name))
}
