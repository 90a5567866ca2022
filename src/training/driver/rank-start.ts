/**
 * @file What a collective job goes on from. Each rank loads it by itself where all see rank 0's folder; else rank 0 loads it and gives rows,
 * dense weights and places to the others: a rank that found nothing on a disk of its own would train on from other weights than they.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkMessage, readBrought } from '../../base/net/index.ts'
import { fromPlainError, type PlainError, toPlainError } from '../../base/util/index.ts'
import type { Rows } from '../../weights/snapshot/index.ts'
import { allGatherJson, type Group } from '../collective/index.ts'
import { beginningOf } from '../threads/index.ts'
import type { CheckpointOptions } from './checkpoint.ts'
import { findStart } from './find-start.ts'
import { readFailure, readPath, readRankStart, readTruth, type SharedRankStart } from './gathered.ts'
import type { TrainingStart } from './job.ts'

/** `options.resume` is the same on all ranks. */
export async function startTogether(group: Group, options: CheckpointOptions): Promise<TrainingStart> {
  const { resume, config } = options
  const { last_epoch, model_save_path } = config.runner
  if (!resume && last_epoch < 0) return await findStart(options)
  if (await allSee(group, model_save_path)) return await findStart({ ...options, agree: agreeOn(group) })
  return group.rank === 0 ? await giveStart(group, options) : await takeStart(group, options)
}

/** What one rank cannot load none does; all throw the same, so that they pass over the same. */
const agreeOn = (group: Group) => async (failure: unknown) => {
  const own = failure === undefined ? null : toPlainError(failure)
  const all = await allGatherJson<PlainError | null>(group, own, readFailure)
  const first = all.find((error) => error !== null)
  if (first) throw fromPlainError(first)
}

/** Whether each rank finds below its own model_save_path what rank 0 has there: a file of a name that nobody can guess. */
export async function allSee(group: Group, folder: string): Promise<boolean> {
  const isFirst = group.rank === 0
  const probe = isFirst && folder !== '' ? `probe-${randomUUID()}` : ''
  if (probe !== '') await writeFile(join(folder, probe), '')
  try {
    const [name = ''] = await allGatherJson(group, probe, readPath)
    const sees = name === '' || (folder !== '' && existsSync(join(folder, name)))
    return (await allGatherJson(group, sees, readTruth)).every(Boolean)
  } finally {
    if (probe !== '') await rm(join(folder, probe), { force: true })
  }
}

/** Before each block of rows: its table and how many there are. */
const HEAD = 2
const NO_MORE = -1
/** Those given so far came from what is damaged. */
const NONE_SO_FAR = -2
/** Rows of a block; a checkpoint is read in smaller ones. */
const MOST_ROWS = 1 << 24

async function giveStart(group: Group, options: CheckpointOptions): Promise<TrainingStart> {
  const { params, storeRows = storeIn(options) } = options
  const give = async (table: number, rows: Rows, areNew: boolean) => {
    await group.broadcast(Int32Array.of(table, rows.signs.length))
    await group.broadcast(bytesOf(rows.signs))
    await group.broadcast(rows.rows)
    await storeRows(table, rows, areNew)
  }
  const dropRows = async () => {
    await group.broadcast(Int32Array.of(NONE_SO_FAR, 0))
    for (const table of params.tables) table.clear()
  }
  const start = await findStart({ ...options, storeRows: give, dropRows })
  await group.broadcast(Int32Array.of(NO_MORE, 0))
  await group.broadcast(params.dense.bytes())
  const { history, ranks, before } = start
  // Of what was measured before, counts alone: the rest is added up from what rank 0 has of it.
  const counts = before && { ...before, sums: {}, histograms: {}, groups: undefined }
  const given = { position: start.position, steps: params.dense.steps, history, ranks, before: counts }
  await allGatherJson<SharedRankStart>(group, given, readRankStart)
  return start
}

async function takeStart(group: Group, options: CheckpointOptions): Promise<TrainingStart> {
  const { params, storeRows = storeIn(options) } = options
  for (;;) {
    const head = new Int32Array(HEAD)
    await group.broadcast(head)
    const [number, count] = [head[0]!, head[1]!]
    if (number === NO_MORE) break
    if (number === NONE_SO_FAR) {
      for (const table of params.tables) table.clear()
      continue
    }
    const table = params.tables[number]!
    readBrought('rank 0', () =>
      checkMessage(table !== undefined && count >= 0 && count <= MOST_ROWS, `${count} rows of table ${number}`),
    )
    const [signs, rows] = [new BigUint64Array(count), new Uint8Array(count * table.rowBytes)]
    await group.broadcast(bytesOf(signs))
    await group.broadcast(rows)
    await storeRows(number, { signs, rows }, false)
  }
  await group.broadcast(params.dense.bytes())
  const [given] = await allGatherJson<SharedRankStart>(group, { ...beginningOf(0), steps: 0 }, readRankStart)
  const { steps, ...start } = given!
  params.dense.restoreSteps(steps)
  return start
}

const storeIn =
  ({ params }: CheckpointOptions) =>
  async (table: number, { signs, rows }: Rows) =>
    void params.tables[table]!.load(signs, rows)

const bytesOf = ({ buffer, byteOffset, byteLength }: BigUint64Array) => new Uint8Array(buffer, byteOffset, byteLength)
