/** @file The model of a collective job as a whole: loaded by every rank, saved by rank 0 with the parts of the others, compared by its digest. */
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Group } from '../../collective/index.ts'
import type { LocalParams } from '../../params/index.ts'
import { markInput, type RankPlace, type Rows, type SavedPart, saveParts } from '../../snapshot/index.ts'
import { type CheckpointOptions, findStart, prepareSaving, saveEpoch, saveRanks, saveWeights } from '../checkpoint.ts'
import type { PassResult, PassStart } from '../loop.ts'
import { meet } from './meet.ts'
import { ownerOf } from './table-plan.ts'

export class RankModel {
  readonly #group: Group
  readonly #checkpoints: CheckpointOptions
  readonly #sharded: readonly number[]

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
    this.#checkpoints = { ...checkpoints, seat: { rank, size }, ...(this.#sharded.length > 0 && { storeRows }) }
  }

  /** Loads what the job starts from; returns where this rank begins. */
  async start(): Promise<PassStart> {
    const { config, emit } = this.#checkpoints
    if (this.#group.rank === 0) await prepareSaving(config)
    await this.#group.barrier()
    const start = await findStart(this.#checkpoints)
    const { position, before } = start
    if (position.batch === 0 || before) return start
    const message = `The checkpoint was made inside epoch ${position.epoch}: ranks train that epoch from its beginning.`
    emit({ kind: 'warning', message })
    return { position: { epoch: position.epoch, batch: 0, chunk: 0, sample: 0 } }
  }

  async save(epoch: number, trained: PassResult): Promise<void> {
    await this.#saveTogether((own) => saveEpoch(own, epoch, trained))
  }

  /** What ranks that were stopped inside an epoch have learned; returns where it is, on every rank. */
  async saveInterrupted(trained: PassResult): Promise<string | undefined> {
    const { config, files } = this.#checkpoints
    // Who has which samples after a global shuffle follows from all shuffles before it.
    if (config.runner.global_shuffle) return this.#saveTogether((own) => saveWeights(own, trained))
    const places = await meet<RankPlace>(this.#group, { position: trained.position, input: markInput(files) })
    return this.#saveTogether((own) => saveRanks(own, trained, places))
  }

  async #saveTogether(save: (options: CheckpointOptions) => Promise<string | undefined>): Promise<string | undefined> {
    if (this.#checkpoints.config.runner.model_save_path === '') return undefined
    const group = this.#group
    let path: string | undefined
    if (group.rank === 0) {
      const others = async (aside: string): Promise<readonly SavedPart[]> => {
        await meet(group, resolve(aside))
        return (await meet<readonly SavedPart[]>(group, [])).flat()
      }
      const divided = this.#sharded.length > 0
      path = await save({ ...this.#checkpoints, ...(divided && { others }) })
    } else if (this.#sharded.length > 0) {
      const [aside = ''] = await meet(group, '')
      await meet(group, await saveParts(aside, group.rank, this.#sharded, this.#checkpoints))
    }
    const [saved] = await meet(group, path ?? null)
    return saved ?? undefined
  }

  /** SHA-256 over weights, optimizer state and rows of all ranks: that of one process with the same model. */
  async digest(): Promise<string> {
    const { params } = this.#checkpoints
    if (this.#sharded.length === 0) return params.digest()
    const hash = createHash('sha256').update(params.dense.bytes())
    for (const [t, { name }] of params.tables.entries()) {
      hash.update(name)
      for (const { sign, row } of await this.#rowsOf(params, t)) hash.update(Buffer.from(sign.buffer)).update(row)
    }
    return hash.digest('hex')
  }

  async #rowsOf(params: LocalParams, t: number) {
    const table = params.tables[t]!
    const blocks = [...table.scan()].map(({ signs, rows }) => ({ signs: signs.slice(), rows: rows.slice() }))
    let signs = BigInt64Array.from(blocks.flatMap((block) => [...block.signs].map((sign) => BigInt.asIntN(64, sign))))
    let rows: Uint8Array = Buffer.concat(blocks.map((block) => block.rows))
    if (this.#sharded.includes(t)) {
      signs = (await this.#group.allGather(signs)).values.slice()
      rows = (await this.#group.allGather(new Uint8Array(rows))).values.slice()
    }
    const { rowBytes } = table
    return [...signs]
      .map((sign, i) => ({
        sign: BigUint64Array.of(BigInt.asUintN(64, sign)),
        row: rows.slice(i * rowBytes, (i + 1) * rowBytes),
      }))
      .sort((a, b) => (a.sign[0]! < b.sign[0]! ? -1 : 1))
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
