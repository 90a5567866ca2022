/** @file What passes will take, before they take it: rows by table, bytes where they train and in memory; into how many an epoch is cut. */
import type { EventOf } from '../../base/event/index.ts'
import { sizeText, UserError } from '../../base/util/index.ts'
import type { BatchReader, Piece } from '../../data/index.ts'
import { SignMerger } from '../../weights/table/index.ts'
import type { LoadedSamples, ReadyPass } from './pass-cycle.ts'
import { SignCollector, type SlotTables } from './sign-collector.ts'

/** Samples that an estimate looks at. */
const SAMPLED = 65_536
/** Of a row's place in the index of a table in memory: 16 bytes a slot, pages about half full. */
const INDEX_BYTES = 32

/** A table as far as its size matters. */
export interface SizedTable {
  readonly name: string
  readonly rowBytes: number
  /** Rows that it has already. */
  readonly rowCount: number
}

/** How an epoch's needs grow with its samples, found in the first of them. */
export interface Growth {
  readonly samples: number
  readonly bytesPerSample: number
  /** Distinct signs of `n` samples, by table. */
  readonly rowsOf: (n: number) => readonly number[]
}

/** Reads the beginning of an epoch. Distinct values grow as a power of their number (Heaps' law), found from half of them and all. */
export async function sampleGrowth(
  reader: BatchReader,
  groups: readonly SlotTables[],
  sparseSlots: number,
): Promise<Growth> {
  const collector = new SignCollector(sparseSlots, 1)
  const seen = groups.map((): BigUint64Array[] => [])
  const marks: { samples: number; distinct: number[] }[] = []
  const distinctSoFar = () => seen.map((lists) => new SignMerger(1).distinct(lists).signs.length)
  let [samples, bytes, fraction] = [0, 0, 0]
  for await (const batch of reader) {
    for (const piece of batch.pieces) {
      for (const [g, { wanted }] of groups.entries()) seen[g]!.push(collector.distinct(piece, wanted).signs.slice())
      bytes += pieceBytes(piece)
    }
    samples += batch.size
    fraction = batch.fraction
    if (marks.length === 0 && samples >= SAMPLED / 2) marks.push({ samples, distinct: distinctSoFar() })
    if (samples >= SAMPLED) break
  }
  const all = { samples, distinct: distinctSoFar() }
  const half = marks[0]
  const tables = groups.flatMap((group, g) => group.tables.map((table) => ({ table, g })))
  tables.sort((a, b) => a.table - b.table)
  const powers = groups.map((_, g) => {
    if (!half || half.samples === samples) return 1
    return Math.log(all.distinct[g]! / half.distinct[g]!) / Math.log(samples / half.samples)
  })
  return {
    samples: Math.ceil(samples / Math.max(fraction, 1e-9)),
    bytesPerSample: samples > 0 ? bytes / samples : 0,
    rowsOf: (n) =>
      tables.map(({ g }) => Math.ceil(all.distinct[g]! * (n / Math.max(1, samples)) ** Math.min(1, powers[g]!))),
  }
}

/** What samples take in memory. */
export function pieceBytes({ chunk, from, to }: Piece): number {
  const columns = [chunk.counts, chunk.starts, ...chunk.dense].reduce((sum, { byteLength }) => sum + byteLength, 0)
  return 8 * (chunk.starts[to]! - chunk.starts[from]!) + ((to - from) * columns) / chunk.samples
}

export type Forecast = EventOf<'forecast'>

/** Of a table, whose fields are not its own properties. */
const sizeOf = ({ name, rowBytes, rowCount }: SizedTable): SizedTable => ({ name, rowBytes, rowCount })

/** Of an epoch in `passes`, as its beginning lets expect. */
export function estimate(growth: Growth, tables: readonly SizedTable[], passes: number, devices: number): Forecast {
  const samples = Math.ceil(growth.samples / passes)
  const [inPass, inAll] = [growth.rowsOf(samples), growth.rowsOf(growth.samples)]
  const rows = tables.map((table, t) => ({ ...sizeOf(table), rows: inPass[t]!, more: inAll[t]! }))
  return sized(rows, {
    samples: growth.samples,
    sampleBytes: samples * growth.bytesPerSample,
    passes,
    devices,
    estimated: true,
  })
}

/** Of a pass that is ready, whose rows are known; further ones are expected to be like it. */
export function counted(
  { samples, tables: rows, loaded }: ReadyPass & { readonly loaded: LoadedSamples },
  tables: readonly SizedTable[],
  passes: number,
  devices: number,
): Forecast {
  const sampleBytes = loaded.pieces.reduce((sum, piece) => sum + pieceBytes(piece), 0)
  const own = tables.map((table, t) => ({ ...sizeOf(table), rows: rows[t]!.rows, more: rows[t]!.rows }))
  return sized(own, { samples: samples * passes, sampleBytes, passes, devices, estimated: passes > 1 })
}

function sized(
  tables: readonly (SizedTable & { readonly rows: number; readonly more: number })[],
  {
    sampleBytes,
    ...shape
  }: Pick<Forecast, 'samples' | 'passes' | 'devices' | 'estimated'> & { readonly sampleBytes: number },
): Forecast {
  // One pass trains while another is prepared, unless all passes are the same.
  const atOnce = shape.passes > 1 ? 2 : 1
  const own = tables.map(({ name, rowBytes, rowCount, rows, more }) => ({
    table: name,
    rows,
    deviceBytes: rows * rowBytes,
    memoryBytes: (rowCount + more + atOnce * rows) * (rowBytes + INDEX_BYTES),
  }))
  const sum = (of: (table: (typeof own)[number]) => number) => own.reduce((total, table) => total + of(table), 0)
  const memoryBytes = Math.ceil(sum((table) => table.memoryBytes) + atOnce * sampleBytes)
  return { kind: 'forecast', ...shape, tables: own, deviceBytes: sum((table) => table.deviceBytes), memoryBytes }
}

export interface PassLimits {
  /** For the samples and rows of the passes in memory at once: runner.pass_memory. @default no limit but memory itself */
  readonly passBytes?: number | undefined
  /** Memory that there is for all of it. */
  readonly memoryBytes: number
  /** Of the device that rows are trained on: all that it has, and the largest buffer, into which a table must fit. @default they are not */
  readonly device?: { readonly memoryBytes: number; readonly bufferBytes: number } | undefined
  /** An epoch cannot be cut into more. */
  readonly mostPasses: number
}

/** Into how many passes an epoch is cut so that it fits; refuses with advice where it cannot. */
export function planPasses(
  growth: Growth,
  tables: readonly SizedTable[],
  devices: number,
  limits: PassLimits,
): { readonly passes: number; readonly forecast: Forecast } {
  const { passBytes, memoryBytes, device, mostPasses } = limits
  const held = tables.reduce((sum, { rowCount, rowBytes }) => sum + rowCount * (rowBytes + INDEX_BYTES), 0)
  const hostRows = growth.rowsOf(growth.samples)
  const host = tables.reduce((sum, { rowBytes }, t) => sum + hostRows[t]! * (rowBytes + INDEX_BYTES), held)
  const cuts = passBytes === undefined && device === undefined ? [1] : halvings(mostPasses)
  let last: Forecast | undefined
  for (const passes of cuts) {
    const forecast = estimate(growth, tables, passes, devices)
    last = forecast
    const fitsPass = passBytes === undefined || forecast.memoryBytes - host <= passBytes
    if (!fitsPass || !fitsDevice(forecast, device)) continue
    if (forecast.memoryBytes - held > memoryBytes) throw tooLarge(forecast, memoryBytes, passBytes !== undefined)
    return { passes, forecast }
  }
  throw doesNotFit(last!, last!.memoryBytes - host, limits)
}

function fitsDevice(forecast: Forecast, device: PassLimits['device']): boolean {
  if (device === undefined) return true
  const { memoryBytes, bufferBytes } = device
  const largest = Math.max(0, ...forecast.tables.map(({ deviceBytes }) => deviceBytes))
  return forecast.deviceBytes <= memoryBytes && largest <= bufferBytes
}

/** 1, 2, 4, ... and the last possible. */
function halvings(most: number): number[] {
  const cuts: number[] = []
  for (let passes = 1; passes < most; passes *= 2) cuts.push(passes)
  return [...cuts, Math.max(1, most)]
}

const byTable = ({ tables }: Forecast) =>
  tables.map(
    ({ table, rows, memoryBytes }) => `${table}: ${rows.toLocaleString('en-US')} rows, ${sizeText(memoryBytes)}`,
  )

function tooLarge(forecast: Forecast, memoryBytes: number, isCut: boolean): UserError {
  const advice = isCut
    ? 'The host’s own tables are most of it: give the process more memory, make sparse_feature_dim smaller, take an optimizer with less state, or an accessor that forgets rows.'
    : `Cut epochs into smaller passes: runner.pass_memory: "${Math.max(1, Math.floor(memoryBytes / 4 / 2 ** 20))}MB"; or give the process more memory.`
  return new UserError(
    `Training needs about ${sizeText(forecast.memoryBytes)} of memory, and ${sizeText(memoryBytes)} are free (${byTable(forecast).join('; ')}).`,
    { code: 'GPUPS_MEMORY', hint: advice },
  )
}

function doesNotFit({ passes, deviceBytes }: Forecast, passBytes: number, limits: PassLimits): UserError {
  const { device, passBytes: most } = limits
  const needs = [`${sizeText(passBytes)} in memory`, ...(device ? [`${sizeText(deviceBytes)} on the device`] : [])]
  const allowed = [
    ...(most === undefined ? [] : [`runner.pass_memory allows ${sizeText(most)}`]),
    ...(device
      ? [`the device has ${sizeText(device.memoryBytes)}, a table ${sizeText(device.bufferBytes)} of it`]
      : []),
  ]
  return new UserError(
    `Even cut into ${passes} ${passes === 1 ? 'pass' : 'passes'}, the most that its files allow, an epoch needs about ${needs.join(' and ')} for a pass; ${allowed.join('; ')}.`,
    {
      code: 'GPUPS_MEMORY',
      hint: 'Raise runner.pass_memory, or give the data in more and smaller files: what a pipe_command or a reader of yours reads is cut between files only. With runner.device: cpu rows train in memory.',
    },
  )
}
