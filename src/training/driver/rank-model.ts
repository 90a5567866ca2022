/** @file The model of a collective job as a whole: loaded by every rank, saved by rank 0 with the parts of the others, compared by its digest. */
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { processEnv } from '../../base/env/index.ts'
import { noteForLauncher } from '../../base/event/index.ts'
import type { FolderLock } from '../../base/fs/index.ts'
import { fromPlainError, type PlainError, shown } from '../../base/util/index.ts'
import {
  markInput,
  type RankPlace,
  type Rows,
  type SavedPart,
  type SaveRows,
  saveParts,
} from '../../weights/snapshot/index.ts'
import { RowsDigest } from '../../weights/table/index.ts'
import { allGatherJson, type Group } from '../collective/index.ts'
import { beginningOf, type PassResult } from '../threads/index.ts'
import { forgetChanges, rowsHere } from './changed-rows.ts'
import { type CheckpointOptions, placesOf, prepareSaving, saveEpoch, saveRanks, saveWeights } from './checkpoint.ts'
import { type Cut, CutWriter } from './cut-writer.ts'
import {
  type Brought,
  type CutAsked,
  readBroughtPlace,
  readCutAsked,
  readFailure,
  readParts,
  readPath,
  readPlace,
  readSaved,
  readTruth,
} from './gathered.ts'
import type { TrainingStart } from './job.ts'
import { finishAside, partsOfOthers, plainSaveError } from './rank-cuts.ts'
import { startTogether } from './rank-start.ts'
import { ownerOf } from './table-plan.ts'

/** What this rank reads of the epoch, where the number of ranks does not say it. */
export type OwnList = Pick<RankPlace, 'claimed' | 'begun' | 'chunkBytes'>

/** Where other ranks write their parts of a cut, and what of them. */
export class RankModel {
  readonly #group: Group
  #checkpoints: CheckpointOptions
  readonly #sharded: readonly number[]
  #lock: FolderLock | undefined
  readonly #cuts = new CutWriter()
  /** What this rank writes of a cut, where it is not the first. */
  #aside: Promise<void> | undefined
  /** Why it could not leave its answer in the folder: the others hear it when they next meet. */
  #unsaid: PlainError | undefined
  /** Ends rank 0's wait for the parts of the others. */
  #givesUp = new AbortController()
  readonly #closing = new AbortController()

  constructor(group: Group, checkpoints: CheckpointOptions, sharded: readonly boolean[]) {
    const { rank, size } = group
    this.#group = group
    this.#sharded = sharded.flatMap((isSharded, t) => (isSharded ? [t] : []))
    const { tables } = checkpoints.params
    const storeRows = async (table: number, { signs, rows }: Rows) => {
      const keep = (sign: bigint) => !sharded[table] || ownerOf(sign, size) === rank
      for (const [from, to] of runsOf(signs, keep)) {
        const { rowBytes } = tables[table]!
        tables[table]!.load(signs.subarray(from, to), rows.subarray(from * rowBytes, to * rowBytes))
      }
    }
    this.#checkpoints = {
      ...checkpoints,
      storeRows: this.#sharded.length > 0 ? storeRows : undefined,
    }
  }

  /** Loads what the job starts from; returns where this rank begins. */
  async start(): Promise<TrainingStart> {
    const { emit } = this.#checkpoints
    // A launcher of another host may not know that there is something to go on from.
    const [resume = false] = await allGatherJson(this.#group, this.#checkpoints.resume, readTruth)
    this.#checkpoints = { ...this.#checkpoints, resume }
    if (this.#group.rank === 0) this.#lock = await prepareSaving(this.#checkpoints)
    await this.#group.barrier()
    const start = await startTogether(this.#group, this.#checkpoints)
    await forgetChanges(this.#checkpoints.params)
    this.#cuts.startFrom(start.from, this.#checkpoints.config.runner.model_save_path)
    const { position, ranks } = start
    if (ranks) return this.#group.rank === 0 ? { ...start, meter: start.before } : start
    if (position.batch === 0) return start
    const message = `The checkpoint was made inside epoch ${position.epoch}: ranks train that epoch from its beginning.`
    emit({ kind: 'warning', message })
    return { ...beginningOf(position.epoch), history: start.history }
  }

  async save(epoch: number, trained: PassResult): Promise<string | undefined> {
    const { params, config } = this.#checkpoints
    const path = await this.#saveTogether(async (own) => {
      const snapshot = await saveEpoch(own, epoch, trained)
      this.#cuts.startFrom(snapshot, config.runner.model_save_path)
      return snapshot && shown(snapshot.folder)
    })
    await forgetChanges(params)
    return path
  }

  /** What ranks that were stopped inside an epoch have learned; returns where it is, on every rank. */
  async saveInterrupted(trained: PassResult, own: OwnList = {}): Promise<string | undefined> {
    const { config, files } = this.#checkpoints
    // Who has which samples after a global shuffle follows from all shuffles before it.
    if (config.runner.global_shuffle) return this.#saveTogether((own) => saveWeights(own, trained))
    const place = { position: trained.position, input: markInput(files), ...own }
    const places = await allGatherJson<RankPlace>(this.#group, place, readPlace)
    return this.#saveTogether((own) => saveRanks(own, trained, places))
  }

  /** The job inside an epoch, where all ranks have paused; not after a global shuffle. */
  async saveCut(trained: PassResult, list: OwnList = {}): Promise<void> {
    const { files, params, config } = this.#checkpoints
    const { rank } = this.#group
    const own = rowsHere(params, rank, rank === 0 ? undefined : this.#sharded)
    // Where batches are counted, rank 0 waits for the cut before; how that ended must be known by now.
    if (typeof config.runner.snapshot_interval === 'number') await this.#aside
    const place = { position: trained.position, input: markInput(files), ...list }
    const brought = { ...place, hasLostRows: own.hasLostRows }
    const all = await allGatherJson<Brought>(this.#group, { ...brought, unsaid: this.#takeUnsaid() }, readBroughtPlace)
    this.#giveUpFor(all.map(({ unsaid }) => unsaid))
    let failed: PlainError | undefined
    if (rank === 0) {
      const ranks = all.map(({ hasLostRows: _, unsaid: __, ...known }): RankPlace => known)
      const hasLostRows = all.some((other) => other.hasLostRows)
      await this.#beginCut(own.begin, { trained, place: placesOf(trained, { ranks }), hasLostRows })
    } else if (this.#sharded.length > 0) failed = await this.#joinCut(own.begin)
    this.#giveUpFor(await allGatherJson<PlainError | null>(this.#group, failed ?? null, readFailure))
    if (rank !== 0) noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'taken')
  }

  /** Rank 0 tells the others where their parts go, or that there is no cut. */
  async #beginCut(beginOwn: Cut['begin'], cut: Omit<Cut, 'options' | 'begin'>): Promise<void> {
    let isTold = this.#sharded.length === 0
    const tell = async (asked: CutAsked | null) => {
      if (!isTold) await allGatherJson(this.#group, asked, readCutAsked)
      isTold = true
    }
    const begin: Cut['begin'] = async (aside, changed) => {
      await tell({ aside: resolve(aside), changed })
      const parts = await beginOwn(aside, changed)
      if (this.#sharded.length === 0) return parts
      this.#givesUp = new AbortController()
      const signal = AbortSignal.any([this.#closing.signal, this.#givesUp.signal])
      const others = () => partsOfOthers(aside, this.#group.size, signal)
      return { finish: async () => [...(await parts.finish()), ...(await others())] }
    }
    await this.#cuts.begin({ options: { ...this.#checkpoints, lock: this.#lock }, begin, ...cut })
    await tell(null)
  }

  /** Another rank takes its rows, and writes them while it trains; returns why it could not take them. */
  async #joinCut(beginOwn: Cut['begin']): Promise<PlainError | undefined> {
    const [asked] = await allGatherJson(this.#group, null, readCutAsked)
    if (!asked) return undefined
    const { aside, changed } = asked
    const begun = beginOwn(aside, changed)
    this.#aside = finishAside(aside, this.#group.rank, () => begun).then((unsaid) => {
      this.#unsaid = unsaid
    })
    return begun.then(
      () => undefined,
      (error) => plainSaveError(error, aside),
    )
  }

  #takeUnsaid(): PlainError | null {
    const unsaid = this.#unsaid ?? null
    this.#unsaid = undefined
    return unsaid
  }

  /** A rank that cannot write its part cannot say so in the folder: without this, rank 0 would wait for it for ever. */
  #giveUpFor(errors: readonly (PlainError | null)[]): void {
    const error = errors.find((other) => other !== null)
    if (error) this.#givesUp.abort(fromPlainError(error))
  }

  async #saveTogether(save: (options: CheckpointOptions) => Promise<string | undefined>): Promise<string | undefined> {
    if (this.#checkpoints.config.runner.model_save_path === '') return undefined
    const group = this.#group
    let path: string | undefined
    await this.#aside
    this.#giveUpFor(await allGatherJson<PlainError | null>(group, this.#takeUnsaid(), readFailure))
    await this.#cuts.settle()
    if (group.rank === 0) {
      const { params } = this.#checkpoints
      const rows: SaveRows = async (aside) => {
        await allGatherJson(group, resolve(aside), readPath)
        const own = await saveParts(aside, 0, params.tables.keys(), this.#checkpoints)
        return (await allGatherJson<readonly SavedPart[]>(group, own, readParts)).flat()
      }
      path = await save({ ...this.#checkpoints, lock: this.#lock, rows: this.#sharded.length > 0 ? rows : undefined })
    } else if (this.#sharded.length > 0) {
      const [aside = ''] = await allGatherJson(group, '', readPath)
      const own = await saveParts(aside, group.rank, this.#sharded, this.#checkpoints)
      await allGatherJson<readonly SavedPart[]>(group, own, readParts)
    }
    const [saved] = await allGatherJson<string | null>(group, path ?? null, readSaved)
    return saved ?? undefined
  }

  /** Nothing more is saved. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#cuts.settle().catch(() => undefined), this.#aside])
    this.#lock?.release()
  }

  /** SHA-256 over weights, optimizer state and rows of all ranks: that of one process with the same model. */
  async digest(): Promise<string> {
    const { params } = this.#checkpoints
    if (this.#sharded.length === 0) return params.digest()
    const hash = createHash('sha256').update(params.dense.bytes())
    for (const [t, { name }] of params.tables.entries()) {
      hash.update(name).update(await this.#rowsDigest(t))
    }
    return hash.digest('hex')
  }

  /** Of a table's rows, those of all ranks where it is divided. */
  async #rowsDigest(t: number): Promise<Uint8Array> {
    const own = new RowsDigest()
    for (const block of this.#checkpoints.params.tables[t]!.scan()) own.add(block)
    if (!this.#sharded.includes(t)) return own.bytes
    const { values } = await this.#group.allGather(own.bytes)
    const [all, each] = [new RowsDigest(), own.bytes.length]
    for (let at = 0; at < values.length; at += each) all.join(values.slice(at, at + each))
    return all.bytes
  }
}

/** Stretches of signs to keep: [from, to). */
function* runsOf(signs: BigUint64Array, keep: (sign: bigint) => boolean): Generator<readonly [number, number]> {
  let from = 0
  for (let i = 0; i <= signs.length; i++) {
    if (i < signs.length && keep(signs[i]!)) continue
    if (i > from) yield [from, i]
    from = i + 1
  }
}
