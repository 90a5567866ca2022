/** @file The model of a collective job as a whole: loaded by every rank, saved by rank 0 with the parts of the others, compared by its digest. */
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { FolderLock } from '../../base/fs/index.ts'
import { markInput, type RankPlace, type Rows, type SavedPart, saveParts } from '../../weights/snapshot/index.ts'
import { copyRows, digestRows } from '../../weights/table/index.ts'
import { allGatherJson, type Group } from '../collective/index.ts'
import { beginningOf, type PassResult } from '../threads/index.ts'
import {
  type CheckpointOptions,
  findStart,
  prepareSaving,
  saveCut,
  saveEpoch,
  saveRanks,
  saveWeights,
} from './checkpoint.ts'
import type { TrainingStart } from './job.ts'
import { ownerOf } from './table-plan.ts'

export class RankModel {
  readonly #group: Group
  readonly #checkpoints: CheckpointOptions
  readonly #sharded: readonly number[]
  #lock: FolderLock | undefined
  /** The name of the last one. */
  #cut: string | undefined

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
      ranks: { rank, size },
      storeRows: this.#sharded.length > 0 ? storeRows : undefined,
    }
  }

  /** Loads what the job starts from; returns where this rank begins. */
  async start(): Promise<TrainingStart> {
    const { emit } = this.#checkpoints
    if (this.#group.rank === 0) this.#lock = await prepareSaving(this.#checkpoints)
    await this.#group.barrier()
    const start = await findStart(this.#checkpoints)
    const { position, before } = start
    if (position.batch === 0 || before) return start
    const message = `The checkpoint was made inside epoch ${position.epoch}: ranks train that epoch from its beginning.`
    emit({ kind: 'warning', message })
    return { ...beginningOf(position.epoch), history: start.history }
  }

  save(epoch: number, trained: PassResult): Promise<string | undefined> {
    return this.#saveTogether((own) => saveEpoch(own, epoch, trained))
  }

  /** What ranks that were stopped inside an epoch have learned; returns where it is, on every rank. */
  async saveInterrupted(trained: PassResult): Promise<string | undefined> {
    const { config, files } = this.#checkpoints
    // Who has which samples after a global shuffle follows from all shuffles before it.
    if (config.runner.global_shuffle) return this.#saveTogether((own) => saveWeights(own, trained))
    const places = await allGatherJson<RankPlace>(this.#group, { position: trained.position, input: markInput(files) })
    return this.#saveTogether((own) => saveRanks(own, trained, places))
  }

  /** The job inside an epoch, where all ranks have paused; not after a global shuffle. */
  async saveCut(trained: PassResult): Promise<void> {
    const { files } = this.#checkpoints
    const places = await allGatherJson<RankPlace>(this.#group, { position: trained.position, input: markInput(files) })
    // Other ranks that write their parts cannot be told that there is no room for this one's.
    const mustSucceed = this.#sharded.length > 0
    await this.#saveTogether(async (own) => {
      const save = (name: string) => saveRanks(own, trained, places, name)
      this.#cut = await saveCut({ ...own, mustSucceed }, trained, this.#cut, save)
      return this.#cut
    })
  }

  async #saveTogether(save: (options: CheckpointOptions) => Promise<string | undefined>): Promise<string | undefined> {
    if (this.#checkpoints.config.runner.model_save_path === '') return undefined
    const group = this.#group
    let path: string | undefined
    if (group.rank === 0) {
      const others = async (aside: string): Promise<readonly SavedPart[]> => {
        await allGatherJson(group, resolve(aside))
        return (await allGatherJson<readonly SavedPart[]>(group, [])).flat()
      }
      path = await save({
        ...this.#checkpoints,
        lock: this.#lock,
        others: this.#sharded.length > 0 ? others : undefined,
      })
    } else if (this.#sharded.length > 0) {
      const [aside = ''] = await allGatherJson(group, '')
      await allGatherJson(group, await saveParts(aside, group.rank, this.#sharded, this.#checkpoints))
    }
    const [saved] = await allGatherJson(group, path ?? null)
    return saved ?? undefined
  }

  /** Nothing more is saved. */
  close(): void {
    this.#lock?.release()
  }

  /** SHA-256 over weights, optimizer state and rows of all ranks: that of one process with the same model. */
  async digest(): Promise<string> {
    const { params } = this.#checkpoints
    if (this.#sharded.length === 0) return params.digest()
    const hash = createHash('sha256').update(params.dense.bytes())
    for (const [t, { name }] of params.tables.entries()) {
      hash.update(name)
      digestRows(await this.#rowsOf(t), hash)
    }
    return hash.digest('hex')
  }

  /** A table's rows, those of all ranks where it is divided. */
  async #rowsOf(t: number): Promise<readonly Rows[]> {
    const blocks = copyRows(this.#checkpoints.params.tables[t]!)
    if (!this.#sharded.includes(t)) return blocks
    const own = new Uint8Array(Buffer.concat(blocks.map(({ signs }) => new Uint8Array(signs.buffer))))
    const signs = (await this.#group.allGather(new BigInt64Array(own.buffer))).values.slice()
    const rows = new Uint8Array(Buffer.concat(blocks.map((block) => block.rows)))
    return [{ signs: new BigUint64Array(signs.buffer), rows: (await this.#group.allGather(rows)).values.slice() }]
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
