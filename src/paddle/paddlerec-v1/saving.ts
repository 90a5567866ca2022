/** @file What a runner starts from and what it keeps: checkpoints, models for inference and dumped results, by PaddleRec 1.x's rules. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RunnerV1 } from '../../base/config/index.ts'
import type { Metrics } from '../../base/event/index.ts'
import { type FolderLock, holdFolder } from '../../base/fs/index.ts'
import { shown } from '../../base/util/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { exportParams } from '../../training/driver/index.ts'
import type { StepReport } from '../../training/threads/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../../weights/snapshot/index.ts'
import type { ReadyPhase } from './phase.ts'
import type { RunnerContext } from './run.ts'

/** A phase and its weights. */
export interface SavedPhase extends ReadyPhase {
  readonly params: LocalParams
  /** Below the runner's folders, where several phases would write the same. */
  readonly folder: string
}

/** Loads init_model_path, or the phase's folder in it; the runner must have one. */
export async function loadInitial({ runner, emit }: RunnerContext, { name }: ReadyPhase['phase'], params: LocalParams) {
  const own = join(runner.init_model_path, name)
  const from = existsSync(own) ? own : runner.init_model_path
  const snapshot = await openSnapshot(from, `runner.${runner.name}.init_model_path`)
  await loadSnapshot({ snapshot, params, emit, otherOptimizer: 'weights' })
  emit({ kind: 'loaded', path: shown(from), epoch: snapshot.manifest.position.epoch - 1 })
}

/** Whether anything is saved after an epoch. */
export function savesAnything(runner: RunnerV1, epoch: number): boolean {
  return savesCheckpoint(runner, epoch) || savesInference(runner, epoch)
}

/** The folders that a runner writes to, by their paths, held so that no other job does. */
export interface HeldFolders {
  readonly of: (folder: string) => FolderLock | undefined
  readonly release: () => void
}

/** What saves need to know of their runner. */
export interface SavingContext extends RunnerContext {
  /** Of the process that writes; others only take part in its saves. */
  readonly held: HeldFolders | undefined
}

/** Fails where another job has one of them. */
export async function holdSaving({ runner, emit }: RunnerContext): Promise<HeldFolders> {
  const locks = new Map<string, FolderLock>()
  const release = () => {
    for (const lock of locks.values()) lock.release()
  }
  try {
    for (const key of ['save_checkpoint_path', 'save_inference_path', 'save_step_path'] as const) {
      const folder = runner[key]
      const isUsed = folder !== '' && (key !== 'save_step_path' || runner.save_step_interval > 0)
      if (!isUsed || locks.has(folder)) continue
      await mkdir(folder, { recursive: true })
      const hint = `Wait for its end, stop it, or set another ${key}.`
      const onWait = (message: string) => emit({ kind: 'notice', message })
      locks.set(folder, await holdFolder(folder, { kind: 'model', key: `runner.${runner.name}.${key}`, hint, onWait }))
    }
  } catch (error) {
    release()
    throw error
  }
  return { of: (folder) => locks.get(folder), release }
}

/** A checkpoint first, then a model for inference, each by its own interval. */
export async function saveEpoch(
  context: SavingContext,
  phase: SavedPhase,
  epoch: number,
  metrics: Metrics,
): Promise<void> {
  const { runner, emit, held } = context
  if (savesCheckpoint(runner, epoch)) {
    const folder = join(runner.save_checkpoint_path, String(epoch), phase.folder)
    await save(context, phase, { folder, epoch, batch: 0, metrics, lock: held?.of(runner.save_checkpoint_path) })
  }
  if (savesInference(runner, epoch)) {
    const { loaded, model, params, files } = phase
    const folder = join(runner.save_inference_path, String(epoch), phase.folder)
    const lock = held?.of(runner.save_inference_path)
    await exportParams({ config: loaded.config, model, params, files: { train: files }, folder, epoch, emit, lock })
  }
}

/** What to do after a batch of an epoch: save, where save_step_interval says so. */
export function stepSaver(context: SavingContext, phase: SavedPhase, epoch: number) {
  const { save_step_interval, save_step_path } = context.runner
  return (batch: number) => {
    if (batch % save_step_interval !== 0) return undefined
    const folder = join(save_step_path, `epoch_${epoch}_batch_${batch}`, phase.folder)
    const lock = context.held?.of(save_step_path)
    return () => save(context, phase, { folder, epoch, batch: batch + 1, metrics: {}, lock })
  }
}

const savesCheckpoint = ({ save_checkpoint_path, save_checkpoint_interval, epochs }: RunnerV1, epoch: number) =>
  save_checkpoint_path !== '' && savesAfter(epoch, epochs, save_checkpoint_interval)

const savesInference = ({ save_inference_path, save_inference_interval, epochs }: RunnerV1, epoch: number) =>
  save_inference_path !== '' && savesAfter(epoch, epochs, save_inference_interval)

/** After the last epoch always; after others when (epoch + 1) is a multiple of the interval, which -1 divides like 1. */
function savesAfter(epoch: number, epochs: number, interval: number): boolean {
  return epoch === epochs - 1 || (epoch + 1) % interval === 0
}

interface Saved {
  readonly folder: string
  readonly epoch: number
  /** Batches of the epoch that are in it; 0: all. */
  readonly batch: number
  readonly metrics: Metrics
  readonly lock: FolderLock | undefined
}

async function save({ runner, emit }: RunnerContext, phase: SavedPhase, saved: Saved) {
  const { folder, epoch, batch, metrics, lock } = saved
  const whole = batch === 0
  const position = { epoch: whole ? epoch + 1 : epoch, batch, chunk: 0, sample: 0 }
  const state = { program: programHash(phase.model.train), seed: runner.seed, metrics, position }
  const took = await saveSnapshot({ folder, params: phase.params, state, emit, lock })
  emit({ kind: 'saved', path: shown(folder), epoch, batch: whole ? undefined : batch - 1, ...took })
}

export class DumpWriter {
  readonly #path: string
  /** By batch, since threads finish in any order. */
  readonly #rows = new Map<number, string>()

  constructor(path: string) {
    this.#path = path
  }

  add({ index, result }: StepReport): void {
    const { loss, means, fetched = {} } = result
    this.#rows.set(index, JSON.stringify({ loss: [loss], ...means, ...fetched }))
  }

  /** Writes the file; returns its path. */
  async write(): Promise<string> {
    const rows = [...this.#rows.entries()].sort(([a], [b]) => a - b).map(([, row]) => row)
    await mkdir(dirname(this.#path), { recursive: true })
    await writeFile(this.#path, `[${rows.join(',\n')}]\n`)
    return this.#path
  }
}
