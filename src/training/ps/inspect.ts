/** @file What a server shows to those who look at it: its tables, or one row with its state, its owner and its last update. */
import { readWeights, weightBytes } from '../../base/kernel/index.ts'
import { defined, suggest, UserError } from '../../base/util/index.ts'
import type { OptimizerSpec } from '../../weights/optim/index.ts'
import {
  type AccessorConfig,
  localShardOf,
  readAccessorRow,
  serverOf,
  shardOf,
  shardsPerServer,
} from '../../weights/table/index.ts'
import { type HotInspector, type HotReport, hotReport } from './inspect-hot.ts'
import type { KernelStore } from './kernel-store.ts'
import type { PsMode } from './server.ts'
import type { UpdateMemory } from './update-log.ts'

export interface InspectRequest {
  readonly table?: string | undefined
  /** A sign, in decimal. */
  readonly key?: string | undefined
  /** So many of the hottest rows, of the table or of each. */
  readonly hot?: number | undefined
}

export interface TableReport {
  readonly name: string
  readonly dim: number
  readonly rows: number
  readonly rowBytes: number
  readonly usedBytes: number
  readonly optimizer: string
  /** Over the weights of `sampledRows` rows. */
  readonly weights?: WeightReport
}

export interface WeightReport {
  readonly sampledRows: number
  readonly mean: number
  readonly deviation: number
  readonly smallest: number
  readonly largest: number
}

export interface RowReport {
  readonly table: string
  readonly key: string
  readonly owner: {
    readonly server: number
    readonly endpoint: string
    readonly shard: number
    readonly localShard: number
  }
  /** Undefined: another server owns it. */
  readonly row?: UpdateMemory & {
    readonly isStored: boolean
    readonly weight: readonly number[]
    readonly state: Readonly<Record<string, readonly number[]>>
  }
}

export interface ServerReport {
  readonly server: number
  readonly mode: PsMode
  readonly steps: number
  readonly denseValues: number
  readonly shards: readonly [first: number, last: number]
  readonly usedBytes: number
  readonly memoryLimitBytes: number
  readonly tables: readonly TableReport[]
}

export type InspectAnswer =
  | ({ readonly kind: 'server' } & ServerReport)
  | ({ readonly kind: 'table'; readonly server: number } & TableReport)
  | ({ readonly kind: 'row' } & RowReport)
  | ({ readonly kind: 'hot' } & HotReport)

export interface InspectorOptions extends HotInspector {
  /** What is remembered of a row's updates. */
  readonly memoryOf: (table: number, sign: bigint) => UpdateMemory | Promise<UpdateMemory>
  readonly mode: PsMode
}

export async function inspectStore(
  options: InspectorOptions,
  { table, key, hot }: InspectRequest,
): Promise<InspectAnswer> {
  const { store, rank, mode, placement } = options
  if (hot !== undefined) {
    const tables = table === undefined ? store.params.tables.map((_, t) => t) : [tableNamed(store, table)]
    return { kind: 'hot', ...(await hotReport(options, tables, hot)) }
  }
  if (table === undefined) {
    const each = shardsPerServer(placement)
    return {
      kind: 'server',
      server: rank,
      mode,
      steps: store.steps,
      denseValues: store.denseSize,
      shards: [rank * each, Math.min(placement.shards, (rank + 1) * each) - 1],
      usedBytes: store.usedBytes,
      memoryLimitBytes: store.memoryLimitBytes,
      tables: store.params.tables.map((_, t) => tableReport(store, t)),
    }
  }
  const at = tableNamed(store, table)
  if (key === undefined)
    return { kind: 'table', server: rank, ...tableReport(store, at), weights: weightReport(store, at) }
  const sign = signOf(key)
  const memory = serverOf(sign, placement) === rank ? await options.memoryOf(at, sign) : {}
  return { kind: 'row', ...rowReport(options, at, sign, memory) }
}

function tableNamed({ params }: KernelStore, name: string): number {
  const names = params.tables.map((table) => table.name)
  const at = names.indexOf(name)
  if (at >= 0) return at
  const guess = suggest(name, names)
  throw new UserError(`there is no table "${name}", the model has ${names.join(', ') || 'none'}`, {
    code: 'PS_INSPECT',
    hint: guess && `did you mean --table ${guess}?`,
  })
}

function signOf(key: string): bigint {
  if (/^\d+$/.test(key) && BigInt(key) < 2n ** 64n) return BigInt(key)
  throw new UserError(`--key: expected a sign, a whole number from 0 to 2^64 - 1, got "${key}"`, {
    code: 'PS_INSPECT',
    hint: 'write the id as it stands in the data, in decimal',
  })
}

function tableReport(store: KernelStore, at: number): TableReport {
  const { name, dim, rowCount: rows, rowBytes, usedBytes } = store.params.tables[at]!
  const { accessor } = store.params.tables[at]!
  const rules = accessor && `${accessor.accessor} (${accessor.embed.name}, ${accessor.embedx.name})`
  return { name, dim, rows, rowBytes, usedBytes, optimizer: rules ?? store.optimizerOf(at).kind }
}

/** Some blocks of rows are enough; all would keep workers waiting. */
const SAMPLED_ROWS = 10_000

function weightReport(store: KernelStore, at: number): WeightReport {
  const { weightShape } = store.params.tables[at]!
  const { weights: dim } = weightShape
  let [sampledRows, sum, squares, smallest, largest] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { signs, rows } of store.scan(at)) {
    const weights = new Float32Array(signs.length * dim)
    readWeights(rows, signs.length, weightShape, weights)
    for (const weight of weights) {
      sum += weight
      squares += weight * weight
      smallest = Math.min(smallest, weight)
      largest = Math.max(largest, weight)
    }
    sampledRows += signs.length
    if (sampledRows >= SAMPLED_ROWS) break
  }
  if (sampledRows === 0) return { sampledRows, mean: 0, deviation: 0, smallest: 0, largest: 0 }
  const mean = sum / (sampledRows * dim)
  const deviation = Math.sqrt(Math.max(0, squares / (sampledRows * dim) - mean * mean))
  return { sampledRows, mean, deviation, smallest, largest }
}

function rowReport(
  { store, rank, servers, placement }: InspectorOptions,
  at: number,
  sign: bigint,
  memory: UpdateMemory,
): RowReport {
  const server = serverOf(sign, placement)
  const owner = {
    server,
    endpoint: servers[server]!,
    shard: shardOf(sign, placement),
    localShard: localShardOf(sign, placement),
  }
  const { name, dim, rule, accessor, weightShape } = store.params.tables[at]!
  const report = { table: name, key: String(sign), owner }
  if (server !== rank) return report
  const stored = store.row(at, sign)
  if (accessor && stored) return { ...report, row: { isStored: true, ...accessorReport(accessor, stored), ...memory } }
  const weight = stored ? new Float32Array(dim) : store.initial(at, sign)
  if (stored) readWeights(stored, 1, weightShape, weight)
  const floats = new Float32Array(stored?.slice().buffer ?? new ArrayBuffer(0))
  const states = stored ? rule.states : 0
  const statesAt = weightBytes(dim, weightShape.precision) / 4
  const run = (i: number) => [...floats.subarray(statesAt + i * dim, statesAt + (i + 1) * dim)]
  const names = STATE_NAMES[store.optimizerOf(at).kind]
  const state = Object.fromEntries(Array.from({ length: states }, (_, i) => [names[i] ?? `state ${i}`, run(i)]))
  return { ...report, row: { isStored: stored !== undefined, weight: [...weight], state, ...memory } }
}

/** What a row of an accessor holds, by Paddle's names. */
function accessorReport(accessor: AccessorConfig, stored: Uint8Array) {
  const { slot, unseenDays, deltaScore, show, click, embed, embedx } = readAccessorRow(accessor, stored)
  const counts = { slot, unseen_days: unseenDays, delta_score: deltaScore, show, click }
  return {
    weight: [...embed.weights, ...(embedx?.weights ?? [])],
    state: defined({
      ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, [value]])),
      'embed state': embed.state,
      'embedx state': embedx?.state,
    }),
  }
}

/** What the optimizer keeps beside each weight, in its order. */
const STATE_NAMES: { readonly [K in OptimizerSpec['kind']]: readonly string[] } = {
  sgd: [],
  momentum: ['velocity'],
  adagrad: ['moment'],
  rmsprop: ['mean square', 'momentum', 'mean gradient'],
  adam: ['moment1', 'moment2'],
  ftrl: ['squared', 'linear'],
}
