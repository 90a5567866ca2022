/** @file Days of online training as epochs: waits for their data, says PaddleRec's lines, and lets each pass judge the model before it trains. */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { fields, list, optional, text, truth, whole } from '../../base/net/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import type { Agree, EpochSchedule } from '../driver/index.ts'
import type { DataFiles, PassResult } from '../threads/index.ts'
import { type Arrivals, type Arrived, noData } from './arrivals.ts'
import type { Days, PassOfDay } from './days.ts'

export interface OnlineScheduleOptions {
  readonly config: JobConfig
  readonly days: Days
  readonly arrivals: Arrivals
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** The first pass that will be trained, at the process that knows it. */
  readonly first: () => Promise<number>
  /** What a pass measured before it trained, and then. */
  readonly onMetrics?: ((what: 'judged' | 'trained', epoch: number, result: PassResult) => Promise<void>) | undefined
}

/** What was found of an epoch's data, as JSON. */
interface Outcome extends Arrived {
  readonly isLate: boolean
  readonly isStopped: boolean
}

/** What the first process found is looked through before the others open files by it. */
const names = list(text(16 * 1024), 10_000_000)
const count = whole(0, Number.MAX_SAFE_INTEGER)
const readFound = fields<Outcome>({
  files: names,
  missing: names,
  isLate: truth,
  isStopped: truth,
  isDone: optional(truth),
  pass: optional(fields<PassOfDay>({ day: text(64), pass: count, splits: names, isLast: truth })),
})

export function onlineSchedule(options: OnlineScheduleOptions): EpochSchedule {
  const { config, days, arrivals, emit } = options
  const { evaluate, prefetch } = config.runner
  const found = new Map<number, readonly string[]>()
  const say = (message: string) => emit({ kind: 'notice', message })
  const spent = new PassTimes()
  return {
    epochs: days.epochs,
    judges: evaluate !== 'none',
    find: async (agree) => {
      const files = await firstFiles(options, agree)
      return evaluate === 'none' ? { train: files } : { train: files, infer: files }
    },
    begin: async (epoch, agree) => {
      // Those of passes before are not asked for again.
      for (const known of found.keys()) if (known < epoch) found.delete(known)
      const next = days.at(epoch)
      say(`training a new day = ${next.day} new pass = ${next.pass}`)
      say(`Day:${next.day}, Pass: ${next.pass}, Prepare Dataset Begin.`)
      spent.begin()
      const outcome = await waitFor(options, epoch, agree)
      spent.mark('read_data')
      if (outcome.isStopped) return 'end'
      if (outcome.isDone) return 'done'
      const { files } = outcome
      const { day, pass } = days.at(epoch)
      found.set(epoch, files)
      say(`my_file_list = [${files.map((file) => `'${file}'`).join(', ')}]`)
      say(`Prepare Dataset Done, using time ${spent.minutes('read_data')} mins.`)
      if (files.length === 0) {
        emit({ kind: 'warning', message: `Day:${day}, Pass: ${pass} has no data: the pass is left out.` })
        return 'skip'
      }
      if (evaluate !== 'none') say(`Day:${day}, Pass: ${pass}, Infering Dataset Begin.`)
      return 'train'
    },
    filesOf: (epoch) => found.get(epoch),
    isReady: async (epoch) => {
      if (!prefetch || !arrivals.looksAhead) return false
      // A hint alone: what cannot be looked at now is waited for when its pass begins.
      const { files, missing } = await arrivals.look(epoch).catch((): Arrived => NOT_SEEN)
      if (missing.length > 0) say(`next data not ready: ${missing[0]}`)
      if (missing.length > 0 || files.length === 0) return false
      found.set(epoch, files)
      return true
    },
    onJudged: async (epoch, judged) => {
      const { day, pass } = days.at(epoch)
      spent.mark('infer')
      say(`Infering Dataset Done, using time ${spent.minutes('infer')} mins.`)
      await options.onMetrics?.('judged', epoch, judged)
      spent.mark('infer_metric')
      say(`Day:${day}, Pass: ${pass}, Training Dataset Begin.`)
    },
    onTrained: async (epoch, trained) => {
      spent.mark('train')
      say(`Training Dataset Done, using time ${spent.minutes('train')} mins.`)
      await options.onMetrics?.('trained', epoch, trained)
      spent.mark('metric')
      say(`finished train epoch ${days.at(epoch).pass} ${spent.text()}`)
    },
  }
}

const NOT_SEEN: Arrived = { files: [], missing: ['it cannot be looked at'] }

/** The data of the first pass to train that there are: what the input is like is seen from them. */
async function firstFiles(options: OnlineScheduleOptions, agree: Agree): Promise<NonNullable<DataFiles['train']>> {
  const { config, days, arrivals, first, signal } = options
  const begin = await agree(() => patiently(first, options), count)
  if (begin < days.epochs) {
    const { files, isStopped } = await waitFor(options, begin, agree)
    if (isStopped) throw signal.reason instanceof Error ? signal.reason : stopped()
    if (files.length > 0) return files
  }
  const example = async () => {
    const files = await arrivals.example(begin)
    if (!files) throw noData(config)
    return files
  }
  return await agree(example, names)
}

/** Until every split of the pass is whole, for ever or as long as runner.on_late_data allows. */
async function waitFor(options: OnlineScheduleOptions, epoch: number, agree: Agree): Promise<Outcome> {
  const { config, days, arrivals, emit, signal } = options
  const { data_sleep_second, data_wait_minutes, on_late_data } = config.runner
  const limit = 60_000 * data_wait_minutes
  // Clocks of the system may jump: this one does not.
  let [since, told] = [performance.now(), 0]
  for (;;) {
    const outcome = await agree(() => look(options, epoch, performance.now() - since > limit), readFound)
    const { missing, isLate, isStopped } = outcome
    if (outcome.pass) arrivals.tell?.(epoch, outcome.pass)
    const pass = days.at(epoch)
    if (missing.length === 0 || isStopped) return outcome
    if (isLate && on_late_data === 'stop') throw late(pass, missing, data_wait_minutes)
    if (isLate && on_late_data === 'skip' && arrivals.skips) {
      const what = `${missing.length} of its ${pass.splits.length} splits`
      emit({
        kind: 'warning',
        message: `Day:${pass.day}, Pass: ${pass.pass}: ${what} did not come in ${data_wait_minutes} minutes, and the pass goes on without: ${missing.join(', ')}`,
      })
      return { ...outcome, missing: [] }
    }
    if (isLate) {
      emit({
        kind: 'warning',
        message: `Day:${pass.day}, Pass: ${pass.pass}: the data are late by ${data_wait_minutes} minutes; still waiting for ${missing[0]}`,
      })
      since = performance.now()
    }
    if (told++ === 0) for (const path of missing) emit({ kind: 'notice', message: `wait for data ready: ${path}` })
    await sleep(1000 * data_sleep_second, undefined, { signal }).catch(() => undefined)
  }
}

/** What is down when a job starts is waited for as what goes down later is. */
async function patiently<T>(work: () => Promise<T>, { config, emit, signal }: OnlineScheduleOptions): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUserError(error) || !DOWN.has(error.code) || signal.aborted) throw error
      emit({ kind: 'warning', message: `Training cannot begin yet: ${error.message}` })
      await sleep(1000 * config.runner.data_sleep_second, undefined, { signal }).catch(() => undefined)
    }
  }
}

async function look(
  { arrivals, days, signal, emit }: OnlineScheduleOptions,
  epoch: number,
  isLate: boolean,
): Promise<Outcome> {
  const own = { isLate, isStopped: signal.aborted }
  try {
    return { ...(await arrivals.look(epoch)), ...own }
  } catch (error) {
    // What is down for a minute does not end training that goes on for months.
    if (!isUserError(error) || !DOWN.has(error.code)) throw error
    emit({ kind: 'warning', message: `The data cannot be looked for now: ${error.message}` })
    const { day, pass } = days.at(epoch)
    return { files: [], missing: [`Day:${day}, Pass: ${pass}`], ...own }
  }
}

/** Codes of errors that go by. */
const DOWN: ReadonlySet<string> = new Set(['FS_UNREACHABLE', 'STREAM_UNREACHABLE'])

function late({ day, pass }: PassOfDay, missing: readonly string[], minutes: number): UserError {
  return new UserError(`Day:${day}, Pass: ${pass}: no data after ${minutes} minutes: ${missing.join(', ')}`, {
    code: 'ONLINE_LATE_DATA',
    hint: 'the same command goes on with this pass; on_late_data: wait or skip, or a longer data_wait_minutes, do not end training here',
  })
}

const stopped = () =>
  new UserError('Training was stopped before there was data.', {
    code: 'ONLINE_NO_DATA',
    hint: 'the same command waits for it again',
  })

/** Where the time of a pass went, in minutes, by PaddleRec's names. */
class PassTimes {
  #began = 0
  #marked = 0
  #seconds: Record<string, number> = {}

  begin(): void {
    this.#began = performance.now()
    this.#marked = this.#began
    this.#seconds = {}
  }

  mark(part: string): void {
    const now = performance.now()
    this.#seconds[part] = (now - this.#marked) / 1000
    this.#marked = now
  }

  minutes(part: string): number {
    return (this.#seconds[part] ?? 0) / 60
  }

  text(): string {
    const total = (performance.now() - this.#began) / 60_000
    const known = ['read_data', 'train', 'metric', 'release', 'infer', 'infer_metric']
    const other = total - known.reduce((sum, part) => sum + this.minutes(part), 0)
    const parts = [...known.map((part) => [part, this.minutes(part)] as const), ['other', Math.max(0, other)] as const]
    return `time cost:${total} min job time cost:${parts.map(([part, minutes]) => `[${part}:${minutes} min]`).join('')}`
  }
}
