/** @file Batches whose rows are brought into memory before a trainer thread gets them, by the thread that hands them out. */
import { performance } from 'node:perf_hooks'
import type { EventSink, TableSize } from '../../base/event/index.ts'
import type { Batch } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { type RowTier, type TierStats, tierSize } from '../../weights/table/index.ts'
import { SignCollector, slotTables } from '../passes/index.ts'
import { BatchesAhead } from './batches-ahead.ts'

interface Kept {
  readonly tier: RowTier
  readonly table: string
  /** As it was when the pass began. */
  before: TierStats
}

/** Tables of this process that have a memory limit. */
export class RowTiers {
  readonly #groups: readonly { readonly tiers: readonly RowTier[]; readonly wanted: Uint8Array }[]
  readonly #collector: SignCollector
  readonly #kept: readonly Kept[]
  /** Of the pass under way. */
  #batches: BatchesAhead | undefined
  /** By batch, what ends when it is done. */
  readonly #underWay = new Map<number, () => void>()
  readonly #waited = { seconds: 0, since: undefined as number | undefined }

  /** Undefined where no table has a limit. */
  static of(
    params: LocalParams,
    tiers: readonly (RowTier | undefined)[],
    { train, slots }: TracedModel,
  ): RowTiers | undefined {
    return tiers.some((tier) => tier) ? new RowTiers(params, tiers, train, slots) : undefined
  }

  private constructor(
    params: LocalParams,
    tiers: readonly (RowTier | undefined)[],
    program: TracedModel['train'],
    slots: TracedModel['slots'],
  ) {
    const sparse = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
    this.#groups = slotTables(program, sparse)
      .map(({ tables, wanted }) => ({ wanted, tiers: tables.flatMap((t) => tiers[t] ?? []) }))
      .filter((group) => group.tiers.length > 0)
    this.#collector = new SignCollector(sparse.length, params.handle.tables[0]?.memories.length ?? 1)
    this.#kept = params.tables.flatMap((table, t) => {
      const tier = tiers[t]
      return tier ? [{ tier, table: table.name, before: tier.stats }] : []
    })
  }

  /** The same batches; each is given out when its rows are in memory. A pass that has paused goes on with those it was given. */
  prepared(batches: AsyncIterator<Batch>): AsyncIterator<Batch> {
    this.#batches?.pause()
    for (const end of this.#underWay.values()) end()
    this.#underWay.clear()
    for (const kept of this.#kept) kept.before = kept.tier.stats
    this.#waited.seconds = 0
    this.#waited.since = undefined
    this.#batches = batches instanceof BatchesAhead ? batches : new BatchesAhead(batches, this.#needs)
    return this.#batches
  }

  /** Nothing is asked for until the pass goes on: rows that come meanwhile would be missed by who saves them. */
  pause(): void {
    this.#batches?.pause()
    for (const { tier } of this.#kept) tier.finish()
  }

  /** A batch was computed: its rows may go. */
  done(batch: number): void {
    this.#underWay.get(batch)?.()
    this.#underWay.delete(batch)
    this.#batches?.changed()
  }

  /** What a pass over `samples` has asked of memory and disk. */
  report(emit: EventSink, samples: number): void {
    for (const { tier, table, before } of this.#kept) {
      const now = tier.stats
      const since = (
        key: 'hits' | 'misses' | 'unknown' | 'evicted' | 'lost' | 'readBytes' | 'writtenBytes' | 'readSeconds',
      ) => now[key] - before[key]
      const wanted = since('hits') + since('misses')
      emit({
        kind: 'rows',
        table,
        rows: now.memoryRows + now.diskRows,
        memoryRows: now.memoryRows,
        memoryBytes: now.memoryBytes,
        limitBytes: now.limitBytes,
        diskRows: now.diskRows,
        diskBytes: now.diskBytes,
        hitRate: wanted === 0 ? 1 : since('hits') / wanted,
        misses: since('misses'),
        evicted: since('evicted'),
        lost: since('lost'),
        readSeconds: since('readSeconds'),
        waitedSeconds: this.#waited.seconds,
        readBytesPerSample: since('readBytes') / Math.max(1, samples),
        writtenBytesPerSample: since('writtenBytes') / Math.max(1, samples),
        isDirect: now.isDirect,
      })
    }
  }

  get sizes(): Readonly<Record<string, TableSize>> {
    return Object.fromEntries(this.#kept.map(({ tier, table }) => [table, tierSize(table, tier.stats)]))
  }

  async close(): Promise<void> {
    for (const { tier } of this.#kept) await tier.close()
  }

  readonly #needs = {
    ask: (batch: Batch) => {
      const fits = this.#ask(batch)
      const { since } = this.#waited
      if (fits && since !== undefined) this.#waited.seconds += (performance.now() - since) / 1000
      this.#waited.since = fits ? undefined : (since ?? performance.now())
      return fits
    },
    arrived: async () => {
      for (const { tier } of this.#kept) await tier.arrived()
    },
    isEnough: () => this.#kept.some(({ tier }) => tier.isAheadEnough),
  }

  /** Asks for the rows of a batch; false: there is no room for all of them yet. Those that were asked for already are in memory when it is tried again. */
  #ask(batch: Batch): boolean {
    const started = this.#kept.map(({ tier }) => [tier, tier.begin()] as const)
    const ticks = new Map(started)
    const end = () => {
      for (const [tier, tick] of started) tier.end(tick)
    }
    for (const piece of batch.pieces) {
      for (const { tiers, wanted } of this.#groups) {
        const distinct = this.#collector.distinct(piece, wanted)
        if (tiers.every((tier) => tier.ask(distinct, ticks.get(tier)!))) continue
        end()
        return false
      }
    }
    this.#underWay.set(batch.index, end)
    return true
  }
}
