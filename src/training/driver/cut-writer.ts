/** @file Cuts of a run: rows are taken while training pauses and written while it goes on; each holds what changed since the one before. */
import { basename, dirname, join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { processEnv } from '../../base/env/index.ts'
import { noteForLauncher } from '../../base/event/index.ts'
import { formatUserError, isUserError, shown } from '../../base/util/index.ts'
import {
  type BegunParts,
  type Chain,
  chainOf,
  cutName,
  cutOfChainBefore,
  foldersOf,
  isLong,
  removeCuts,
  type Snapshot,
  type SnapshotState,
  writeSnapshot,
} from '../../weights/snapshot/index.ts'
import type { PassResult } from '../threads/index.ts'
import type { CheckpointOptions } from './checkpoint.ts'
import { cutSettings } from './cut-settings.ts'

/** Where the job is, and how its rows are taken. */
export interface Cut {
  readonly options: CheckpointOptions
  readonly trained: PassResult
  readonly place: Pick<SnapshotState, 'position' | 'meter' | 'input' | 'ranks' | 'workers'>
  /** Takes the rows as they are, all or those that changed since the last time; what it returns writes them. */
  readonly begin: (aside: string, changed: boolean) => Promise<BegunParts>
  /** Rows have gone since the last time, so that what changed does not tell all. */
  readonly hasLostRows: boolean
}

export class CutWriter {
  /** What is being written. */
  #writing: Promise<void> | undefined
  /** What the next cut begins with; undefined: it holds all rows. */
  #chain: Chain | undefined
  /** The newest two that are whole, newest last: one of them may be damaged later. */
  #kept: readonly Snapshot[] = []
  #failure: unknown

  /** The rows are as they were when this was saved. Undefined: the next cut holds all rows. */
  startFrom(snapshot: Snapshot | undefined, savePath: string): void {
    const isBeside = snapshot !== undefined && resolve(dirname(snapshot.folder)) === resolve(savePath)
    this.#chain = isBeside ? chainOf(snapshot) : undefined
    this.#kept = isBeside ? [snapshot] : []
  }

  /** Resolves when the rows are taken and training may go on, or when that has failed, which is said. */
  async begin(cut: Cut): Promise<void> {
    if (this.#writing && this.#isSkipped(cut.options)) return
    await this.settle()
    const chain = cut.hasLostRows || !this.#chain || isLong(this.#chain) ? undefined : this.#chain
    // Changes up to here are forgotten as they are taken: without this cut the next one must hold all.
    this.#chain = undefined
    await new Promise<void>((resolve) => {
      this.#writing = this.#write(cut, chain, resolve)
        .catch((error) => this.#failed(error, cut.options))
        .finally(() => {
          this.#writing = undefined
          resolve()
        })
    })
  }

  /** Waits for what is being written; throws what ended a job meanwhile. */
  async settle(): Promise<void> {
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  /** A disk that takes longer than the interval does not hold training up. Where batches are counted, every cut is made. */
  #isSkipped({ config, emit }: CheckpointOptions): boolean {
    if (typeof config.runner.snapshot_interval === 'number') return false
    const message = 'A cut is left out: the one before is still being written. Is the disk slow?'
    emit({ kind: 'warning', message })
    return true
  }

  async #write(cut: Cut, base: Chain | undefined, onTaken: () => void): Promise<void> {
    const { options, trained, place } = cut
    const { config, program, params, emit } = options
    const { model_save_path, seed } = config.runner
    const { epoch, batch } = trained.position
    const started = performance.now()
    let pauseSeconds = 0
    const rows = async (aside: string) => {
      const begun = await cut.begin(aside, base !== undefined)
      pauseSeconds = (performance.now() - started) / 1000
      onTaken()
      return begun.finish()
    }
    const { metrics } = trained
    const folder = join(model_save_path, this.#nameOf(cut, base))
    const { snapshot, bytes, workSeconds } = await writeSnapshot({
      ...options,
      ...{ folder, rows, base },
      dense: { bytes: params.dense.bytes().slice(), steps: params.dense.steps },
      state: { program, seed, metrics, settings: cutSettings(config), ...structuredClone(place) },
    })
    this.#chain = chainOf(snapshot)
    this.#kept = [...this.#kept.slice(-1), snapshot]
    await this.#prune(model_save_path, snapshot).catch((error: Error) =>
      emit({ kind: 'warning', message: `Older cuts could not be removed: ${error.message}` }),
    )
    const seconds = (performance.now() - started) / 1000
    emit({ kind: 'saved', path: shown(folder), epoch, batch: batch - 1, bytes, seconds, pauseSeconds, workSeconds })
    noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'saved')
  }

  /**
   * By the batches of all workers: the first of them may have nothing to read, and stands still. What earlier cuts are made of is never
   * replaced, whatever a job of another size counts.
   */
  #nameOf({ trained, place }: Cut, base: Chain | undefined): string {
    const { epoch, batch } = trained.position
    const taken = new Set([...this.#kept.flatMap(neededBy), ...foldersOf(base?.files ?? {})])
    let number = place.workers?.reduce((sum, { position }) => sum + position.batch, 0) ?? batch
    while (taken.has(cutName(epoch, number))) number++
    return cutName(epoch, number)
  }

  /** Keeps the newest two, what they consist of, and one that shares nothing with the newest: their common beginning may be damaged too. */
  async #prune(path: string, newest: Snapshot): Promise<void> {
    const before = await cutOfChainBefore(path, newest)
    const kept = before ? [...this.#kept, before] : this.#kept
    await removeCuts(path, kept.flatMap(neededBy))
  }

  /** No room is no reason to end; that a process of the job is gone shows everywhere. */
  #failed(error: unknown, { emit }: CheckpointOptions): void {
    if (isUserError(error) && error.code.startsWith('SNAPSHOT_'))
      emit({ kind: 'warning', message: `This cut is not saved, training goes on: ${formatUserError(error)}` })
    else this.#failure = error
  }
}

/** A checkpoint and what it builds on, by names of folders. */
const neededBy = ({ folder, manifest }: Snapshot) => [...foldersOf(manifest.files), basename(folder)]
