/** @file Loads a checkpoint into parameters, comparing every byte with its checksum on the way. */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { EventSink } from '../../base/event/index.ts'
import { localFiles, type ReadFile } from '../../base/fs/index.ts'
import { readWeights, weightBytes, writeWeights } from '../../base/kernel/index.ts'
import { AUC_BUCKETS } from '../metric/index.ts'
import type { LocalParams } from '../params/index.ts'
import type { SparseTable } from '../table/index.ts'
import { damaged, mismatch } from './errors.ts'
import { hexOf, type Manifest, type ManifestTable } from './manifest.ts'
import { denseStateFits, stateDifferences, tableStateFits, weightDifferences } from './match.ts'
import type { Snapshot } from './open.ts'
import type { Rows } from './parts.ts'
import { tableProgress } from './progress.ts'
import type { MeterState } from './save.ts'

export interface LoadOptions {
  readonly snapshot: Snapshot
  readonly params: LocalParams
  readonly emit: EventSink
  /** What to do about another optimizer: refuse it, or take weights alone where state does not fit. @default 'refuse' */
  readonly otherOptimizer?: 'refuse' | 'weights'
  /** Takes the rows of a table, by its place in `params`, block by block, and whether the table surely has none of them; views that are valid until it returns. @default `params` */
  readonly storeRows?: ((table: number, rows: Rows, areNew: boolean) => Promise<void>) | undefined
  /** Whoever keeps rows reads them by itself, where they are as it keeps them; false: it cannot, and gets them by `storeRows`. */
  readonly loadRows?: ((snapshot: Snapshot) => Promise<boolean>) | undefined
  /** All bytes were what they should be, or `failure`; throws where another process found that they are not. @default this one alone loads */
  readonly agree?: ((failure: unknown) => Promise<void>) | undefined
}

/**
 * Fills `params` with the checkpoint. Throws before changing anything when it is of another model, and with rows stored but dense weights as
 * they were when it is damaged.
 */
export async function loadSnapshot(options: LoadOptions): Promise<void> {
  const { snapshot, params, emit, otherOptimizer = 'refuse' } = options
  const { folder, manifest } = snapshot
  const state = stateDifferences(manifest, params)
  const refused = [...weightDifferences(manifest, params), ...(otherOptimizer === 'refuse' ? state : [])]
  if (refused.length > 0) throw mismatch(folder, refused)
  if (state.length > 0) {
    const message = `${folder}: weights are taken, optimizer state starts anew where it does not fit:\n  ${state.join('\n  ')}`
    emit({ kind: 'notice', message })
  }
  const { agree = async () => undefined } = options
  const read = async () => {
    const dense = await readDense(snapshot, params)
    if (state.length > 0 || !(await options.loadRows?.(snapshot))) await loadTables(options, dense.steps)
    return dense
  }
  const dense = await read().catch(async (error) => {
    await agree(error)
    throw error
  })
  await agree(undefined)
  dense.store()
}

async function loadTables({ snapshot, params, emit, storeRows = storeIn(params) }: LoadOptions, steps: number) {
  for (const [i, table] of params.tables.entries()) {
    const saved = snapshot.manifest.tables.find(({ name }) => name === table.name)!
    const same = tableStateFits(saved, table, params.handle.tables[i]!.optimizer)
    const areNew = table.rowCount === 0 && hasEachOnce(saved)
    const store = (rows: Rows) => storeRows(i, rows, areNew)
    await loadTable(snapshot, saved, table, { same, steps, store, emit })
  }
}

const storeIn =
  (params: LocalParams): NonNullable<LoadOptions['storeRows']> =>
  async (table, { signs, rows }) =>
    params.tables[table]!.load(signs, rows)

/** The metrics of the epoch under way when a run was stopped. */
export async function loadMeter(snapshot: Snapshot): Promise<MeterState | undefined> {
  const { meter } = snapshot.manifest
  if (!meter) return undefined
  const bytes = await readWhole(snapshot, meter.file)
  const values = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)
  const { samples, batches, seconds, groups = [] } = meter
  let at = meter.histograms.length * AUC_BUCKETS
  const taken = (length: number) => {
    at += length
    return values.slice(at - length, at)
  }
  return {
    samples,
    batches,
    seconds,
    sums: Object.fromEntries(Object.entries(meter.sums).map(([name, sum]) => [name, sum ?? Number.NaN])),
    histograms: Object.fromEntries(
      meter.histograms.map((name, i) => [name, values.slice(i * AUC_BUCKETS, (i + 1) * AUC_BUCKETS)]),
    ),
    groups: Object.fromEntries(groups.map(({ name, length }) => [name, taken(length)])),
  }
}

/** Dense weights that are as they were saved, and how many steps have been made with them. */
interface ReadDense {
  readonly steps: number
  store(): void
}

/** By name, so that the order of entries may change. The step count goes with the optimizer's state. */
async function readDense(snapshot: Snapshot, params: LocalParams): Promise<ReadDense> {
  const { dense } = params
  const { manifest } = snapshot
  const saved = manifest.dense
  const bytes = await readWhole(snapshot, saved.file)
  const from = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  const same = denseStateFits(manifest, params)
  const runs = same ? 1 + saved.states : 1
  if (saved.floats > 0 && from.length !== saved.floats * (1 + saved.states))
    throw damaged(join(snapshot.folder, saved.file), 'its size does not fit its layout')
  const places = new Map(saved.entries.map(({ kind, name, at }) => [`${kind} ${name}`, at]))
  const store = () => {
    const block = dense.bytes()
    const to = new Float32Array(block.buffer, block.byteOffset, block.length / 4)
    for (const { kind, name, at, size } of dense.layout.entries) {
      const place = places.get(`${kind} ${name}`)!
      for (let run = 0; run < runs; run++) {
        const first = run * saved.floats + place
        to.set(from.subarray(first, first + size), run * dense.layout.floats + at)
      }
    }
    if (same) dense.restoreSteps(manifest.steps)
  }
  return { steps: same ? manifest.steps : dense.steps, store }
}

interface LoadTableOptions {
  readonly same: boolean
  readonly steps: number
  readonly store: (rows: Rows) => Promise<void>
  readonly emit: EventSink
}

async function loadTable(
  snapshot: Snapshot,
  saved: ManifestTable,
  table: SparseTable,
  { same, steps, store, emit }: LoadTableOptions,
): Promise<void> {
  const report = tableProgress(emit, 'load', table.name, saved.rows)
  let done = 0
  for await (const { signs, rows } of savedRows(snapshot, saved)) {
    await store({ signs, rows: same ? rows : withoutState(rows, saved, table, steps) })
    done += signs.length
    report(done)
  }
}

/** Rows saved under another optimizer as `table` keeps them: the weights, with state as a new row has it; `steps` is what a row that remembers its last update is given. */
export function withoutState(
  rows: Uint8Array,
  { rowBytes: savedBytes, dtype: precision }: Pick<ManifestTable, 'rowBytes' | 'dtype'>,
  table: SparseTable,
  steps: number,
): Uint8Array {
  const { dim, rowBytes, rule, weightShape } = table
  const count = rows.length / savedBytes
  const weights = new Float32Array(count * dim)
  readWeights(rows, count, { weights: dim, rowBytes: savedBytes, precision }, weights)
  const to = new Float32Array((count * rowBytes) / 4)
  const bytes = new Uint8Array(to.buffer)
  writeWeights(weights, count, weightShape, bytes)
  const [floats, statesAt] = [rowBytes / 4, weightBytes(dim, table.precision) / 4]
  const clocks = new Uint32Array(to.buffer)
  for (let i = 0; i < count; i++) {
    const state = i * floats + statesAt
    if (rule.states > 0) to.fill(rule.stateInit, state, state + dim)
    if (rule.clocked) clocks[(i + 1) * floats - 1] = steps
  }
  return bytes
}

/** A cut keeps rows that changed beside those of the checkpoint before it. */
function hasEachOnce({ rows, parts }: ManifestTable): boolean {
  return parts.reduce((sum, part) => sum + part.rows, 0) === rows
}

const BLOCK_BYTES = 4 * 1024 * 1024

/**
 * The rows of a saved table, block by block; views that are valid until the next block. Of a part without any sign that `isWanted`, the signs
 * alone are read.
 */
export async function* savedRows(
  snapshot: Snapshot,
  saved: ManifestTable,
  isWanted?: (sign: bigint) => boolean,
): AsyncGenerator<{ readonly signs: BigUint64Array; readonly rows: Uint8Array }> {
  const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / saved.rowBytes))
  const signs = new BigUint64Array(perBlock)
  const values = new Uint8Array(perBlock * saved.rowBytes)
  for (const part of saved.parts) {
    if (isWanted && !(await hasSign(snapshot, part, signs, isWanted))) continue
    const [signsFile, valuesFile] = [await checked(snapshot, part.signs), await checked(snapshot, part.values)]
    try {
      for (let left = part.rows; left > 0; ) {
        const n = Math.min(left, perBlock)
        await signsFile.fill(new Uint8Array(signs.buffer, 0, 8 * n))
        await valuesFile.fill(values.subarray(0, n * saved.rowBytes))
        yield { signs: signs.subarray(0, n), rows: values.subarray(0, n * saved.rowBytes) }
        left -= n
        await setImmediate() // reading blocks: let signals and timers have their turn
      }
      signsFile.end()
      valuesFile.end()
    } finally {
      await Promise.all([signsFile.close(), valuesFile.close()])
    }
  }
}

/** Whether there is one among those of a part, which are read into `room` in turn. */
async function hasSign(
  snapshot: Snapshot,
  part: ManifestTable['parts'][number],
  room: BigUint64Array,
  isWanted: (sign: bigint) => boolean,
): Promise<boolean> {
  const file = await checked(snapshot, part.signs)
  try {
    for (let left = part.rows; left > 0; left -= Math.min(left, room.length)) {
      const signs = room.subarray(0, Math.min(left, room.length))
      await file.fill(new Uint8Array(signs.buffer, 0, signs.byteLength))
      if (signs.some(isWanted)) return true
      await setImmediate()
    }
    file.end()
    return false
  } finally {
    await file.close()
  }
}

async function readWhole(snapshot: Snapshot, name: string): Promise<Uint8Array> {
  const file = await checked(snapshot, name)
  try {
    const bytes = new Uint8Array(snapshot.manifest.files[name]!.bytes)
    await file.fill(bytes)
    file.end()
    return bytes
  } finally {
    await file.close()
  }
}

/** A file read from its start to its end, whose checksum must then be right. */
async function checked({ folder, manifest }: Snapshot, name: string) {
  const path = join(folder, name)
  const mark: Manifest['files'][string] | undefined = manifest.files[name]
  if (!mark) throw damaged(path, 'the manifest has no checksum for it')
  const file: ReadFile = await localFiles.open(path)
  let [position, crc] = [0, 0]
  return {
    fill: async (target: Uint8Array) => {
      const got = await file.read(target, position)
      if (got < target.length) throw damaged(path, `it ends after ${position + got} bytes`)
      crc = crc32(target, crc)
      position += got
    },
    end: () => {
      if (position !== mark.bytes) throw damaged(path, `it has ${mark.bytes} bytes where ${position} were expected`)
      if (hexOf(crc) !== mark.crc32) throw damaged(path, 'its checksum does not match: it was altered')
    },
    close: () => file.close(),
  }
}
