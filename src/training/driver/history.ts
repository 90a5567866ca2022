/** @file What the epochs of a run have measured: which was the best, whether to stop, whether the model overfits. Pure; the same on every process. */
import type { JobConfig, LoadedConfig } from '../../base/config/index.ts'
import type { EpochRecord, Event, EventOf, Metrics } from '../../base/event/index.ts'
import type { Best, EpochsFile } from '../../weights/snapshot/index.ts'
import type { TrainingJob } from './job.ts'

type Goal = 'higher' | 'lower' | 'one'

/** Which way a metric is better, by its name, unless `runner.best_is` says it. */
function goalOf(metric: string, { best_is }: JobConfig['runner']): Goal {
  if (best_is !== 'auto') return best_is
  if (/^(copc|calibration)/i.test(metric)) return 'one'
  return /loss|err|mae|mse/i.test(metric) ? 'lower' : 'higher'
}

/** The larger the better. */
const RANKS: { readonly [K in Goal]: (value: number) => number } = {
  higher: (value) => value,
  lower: (value) => -value,
  one: (value) => -Math.abs(value - 1),
}

/** By which values of a metric are compared: the larger the better. */
export const rankOf = (metric: string, runner: JobConfig['runner']) => RANKS[goalOf(metric, runner)]

/** Whether the config asks for the best epoch, so that what epochs measured is kept. */
export function keepsHistory({ runner }: JobConfig): boolean {
  return runner.keep_best !== undefined || runner.early_stop !== undefined
}

function addRecord(records: readonly EpochRecord[], record: EpochRecord): readonly EpochRecord[] {
  return [...records.filter(({ epoch }) => epoch !== record.epoch), record]
}

/** What epochs.json holds of them. */
function epochsFile(epochs: readonly EpochRecord[], config: JobConfig): EpochsFile {
  return { best: bestOf(epochs, config) ?? null, epochs }
}

/** By keep_best, else by early_stop, else by AUC or loss; the first of equals. */
export function bestOf(records: readonly EpochRecord[], { runner }: JobConfig): Best | undefined {
  const known = records.find(({ test }) => test)?.test ?? {}
  const metric = runner.keep_best ?? runner.early_stop?.metric ?? ('auc' in known ? 'auc' : 'loss')
  return bestBy(metric, records, runner)
}

function bestBy(metric: string, records: readonly EpochRecord[], runner: JobConfig['runner'], least = 0) {
  const rank = RANKS[goalOf(metric, runner)]
  let best: Best | undefined
  for (const { epoch, test } of records) {
    const value = test?.[metric]
    if (value === undefined || Number.isNaN(value)) continue
    if (!best || rank(value) > rank(best.value) + least) best = { epoch, metric, value }
  }
  return best
}

/** Why to stop, in words; undefined: train on. */
export function stopReason(records: readonly EpochRecord[], { runner }: JobConfig): string | undefined {
  const { early_stop: early } = runner
  if (!early) return undefined
  const best = bestBy(early.metric, records, runner, early.min_delta)
  const last = records.findLast(({ test }) => test)
  if (!best || !last || last.epoch - best.epoch < early.patience) return undefined
  const since = early.patience === 1 ? 'the epoch after it' : `the ${last.epoch - best.epoch} epochs after it`
  return `Stopped early: test ${best.metric} was best in epoch ${best.epoch} (${round(best.value)}), and no better in ${since} (runner.early_stop).`
}

/** A difference that is more than chance, as a share of the value. */
const NOTABLE = 0.002

/** The best epoch lies behind, while training goes on to look better. */
export function overfitText(records: readonly EpochRecord[], config: JobConfig): string | undefined {
  const best = bestOf(records, config)
  const [at, last] = [records.find(({ epoch }) => epoch === best?.epoch), records.at(-1)]
  if (!best || !at?.test || !last?.test || at === last) return undefined
  const rank = RANKS[goalOf(best.metric, config.runner)]
  const gained = (before: Metrics, after: Metrics) => rank(after[best.metric]!) - rank(before[best.metric]!)
  const isWorse = gained(at.test, last.test) < -NOTABLE * Math.abs(best.value)
  if (!isWorse || !(gained(at.train, last.train) > 0)) return undefined
  const text = (part: 'train' | 'test') => `${round(at[part]![best.metric]!)} to ${round(last[part]![best.metric]!)}`
  const advice =
    config.runner.keep_best === undefined
      ? `Keep the best epoch with runner.keep_best: ${best.metric}, stop with runner.early_stop: {metric: ${best.metric}, patience: 1}, or train fewer epochs.`
      : 'oarfish export takes the best epoch; fewer epochs, more data or a smaller model help against it.'
  return `The model overfits: from epoch ${at.epoch} to ${last.epoch} ${best.metric} went from ${text('train')} in training and from ${text('test')} on the test data. ${advice}`
}

const round = (value: number) => Number(value.toFixed(4))

/** The epochs of one run, as its driver follows them. */
export class History {
  readonly #config: JobConfig
  readonly #job: Pick<TrainingJob, 'note' | 'evaluates'>
  #records: readonly EpochRecord[]

  constructor({ config }: LoadedConfig, job: Pick<TrainingJob, 'note' | 'evaluates'>, before?: readonly EpochRecord[]) {
    this.#config = config
    this.#job = job
    this.#records = before ?? []
  }

  /** Whether an epoch that was trained is not evaluated, though the best is asked for. */
  lacks(epoch: number): boolean {
    const isWanted = epoch >= 0 && keepsHistory(this.#config) && this.#job.evaluates
    return isWanted && !this.#records.some((record) => record.epoch === epoch)
  }

  async add(record: EpochRecord): Promise<void> {
    this.#records = addRecord(this.#records, record)
    await this.#job.note?.(epochsFile(this.#records, this.#config))
  }

  /** There is no use in another epoch. */
  get isOver(): boolean {
    return stopReason(this.#records, this.#config) !== undefined
  }

  get summary(): Pick<EventOf<'done'>, 'epochs' | 'best'> {
    return { epochs: this.#records, best: bestOf(this.#records, this.#config) }
  }

  /** What a user should know at the end. */
  end(): Event[] {
    const [stopped, overfits] = [stopReason(this.#records, this.#config), overfitText(this.#records, this.#config)]
    return [
      ...(stopped === undefined ? [] : [{ kind: 'notice', message: stopped } as const]),
      ...(overfits === undefined ? [] : [{ kind: 'warning', message: overfits } as const]),
    ]
  }
}
