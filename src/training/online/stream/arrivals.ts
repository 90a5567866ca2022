/** @file A stream as passes: cuts them, notes what each has, and lays their records down as files. What was noted is trained again exactly so. */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../../base/config/index.ts'
import type { EventSink } from '../../../base/event/index.ts'
import { anyFiles, writeFolder } from '../../../base/fs/index.ts'
import { UserError } from '../../../base/util/index.ts'
import type { Arrivals, Arrived } from '../arrivals.ts'
import type { PassOfDay } from '../days.ts'
import { lastModel } from '../donefiles.ts'
import { cutOf, type PassRule } from './cutter.ts'
import {
  MOST_PASSES,
  type PassLog,
  positionsAfter,
  readPasses,
  type StreamPass,
  withPass,
  writePasses,
} from './pass-log.ts'
import type { Reach, StreamSource } from './source.ts'
import type { StreamDays } from './stream-days.ts'

/** Below model_save_path: records of passes that no checkpoint has yet. */
export const SPOOL = 'stream'

export interface StreamOptions {
  readonly config: JobConfig
  readonly days: StreamDays
  readonly emit: EventSink
  /** At the first process, when it is needed. */
  readonly open: () => Promise<StreamSource>
}

export class StreamArrivals implements Arrivals {
  readonly skips = false
  readonly looksAhead = false
  readonly #options: StreamOptions
  readonly #root: string
  readonly #rule: PassRule
  #source: StreamSource | undefined
  #log: PassLog | undefined
  /** When the pass that is open began. */
  #since = performance.now()
  #committed = -1
  #warned = ''

  constructor(options: StreamOptions) {
    this.#options = options
    const { model_save_path, stream_pass_seconds, stream_pass_records, stream_end } = options.config.runner
    this.#root = model_save_path
    this.#rule = { seconds: stream_pass_seconds, records: stream_pass_records, stopsAtEnd: stream_end === 'stop' }
  }

  tell(epoch: number, pass: PassOfDay): void {
    this.#options.days.tell(epoch, pass)
  }

  /** Reads what was noted: from then on `days` knows the passes that were cut. */
  async open(): Promise<void> {
    if (this.#log) return
    const { config, days } = this.#options
    const stream = [config.runner.train_data_dir ?? ''].flat().join(' ')
    const log = await readPasses(this.#root)
    if (log && streamName(log.stream) !== streamName(stream)) throw otherStream(log.stream, stream)
    this.#log = log ?? { stream, before: await (await this.#opened()).start(), passes: [] }
    days.log = this.#log.passes
  }

  async look(epoch: number): Promise<Arrived> {
    await this.open()
    await this.#settle()
    const { days, emit } = this.#options
    const known = days.passAt(epoch)
    if (known) return await this.#arrived(known)
    const source = await this.#opened()
    const { records: most } = this.#rule
    const from = positionsAfter(this.#log!)
    const reach = await source.look(from, most === 0 ? Number.POSITIVE_INFINITY : most)
    this.#report(source, reach)
    const waitedSeconds = (performance.now() - this.#since) / 1000
    const cut = cutOf(this.#rule, { waitedSeconds, isDayOver: days.isDayOver, reach })
    if (cut === 'end') return { files: [], missing: [], isDone: true }
    if (cut === 'wait') return { files: [], missing: [`records of ${streamName(this.#log!.stream)}`] }
    const left = reach.rest > 0 ? `; ${reach.rest} ${source.unit} are behind it` : ''
    const pass = await this.#note(epoch, reach, cut === 'last')
    emit({ kind: 'notice', message: `pass ${pass.day}/${pass.pass} has ${pass.records} records${left}` })
    return await this.#arrived(pass)
  }

  async example(): Promise<readonly string[] | undefined> {
    const last = this.#log?.passes.findLast(({ records }) => records > 0)
    return last && (await this.#files(last))
  }

  async close(): Promise<void> {
    await this.#source?.close()
  }

  async #opened(): Promise<StreamSource> {
    this.#source ??= await this.#options.open()
    return this.#source
  }

  /** From now on the pass has these records, whatever happens. */
  async #note(epoch: number, { parts, records }: Reach, isLast: boolean): Promise<StreamPass> {
    const { days, config } = this.#options
    const own = Object.fromEntries(
      Object.entries(parts).map(([name, [from, to]]) => [name, [from, to] as [number, number]]),
    )
    const pass: StreamPass = { epoch, ...days.next(), isLast, records, parts: own }
    const log = withPass(this.#log!, pass, MOST_PASSES + config.runner.checkpoint_per_pass)
    await writePasses(this.#root, log)
    this.#log = log
    days.log = log.passes
    this.#since = performance.now()
    return pass
  }

  async #arrived(pass: StreamPass): Promise<Arrived> {
    const { day, pass: number, isLast } = pass
    const files = await this.#files(pass)
    return { files, missing: [], pass: { day, pass: number, splits: [], isLast } }
  }

  /** Laid down once; a folder that is there is whole. */
  async #files({ epoch, parts, records }: StreamPass): Promise<readonly string[]> {
    if (records === 0) return []
    const folder = join(this.#root, SPOOL, String(epoch))
    if (!existsSync(folder)) {
      const source = await this.#opened()
      await writeFolder(folder, (aside) => source.write(parts, aside))
    }
    return await anyFiles.list(folder)
  }

  /** What a checkpoint has is told to the stream, and its records need not be kept. */
  async #settle(): Promise<void> {
    const last = await lastModel(this.#root)
    if (!last) return
    const { days } = this.#options
    const behind = last.pass < 0 ? days.epochOf(last.day, 1) : days.epochOf(last.day, last.pass) + 1
    if (behind === this.#committed) return
    const spooled = await readdir(join(this.#root, SPOOL)).catch(() => [])
    for (const name of spooled.filter((one) => Number.parseInt(one, 10) < behind))
      await rm(join(this.#root, SPOOL, name), { recursive: true, force: true })
    await this.#source?.commit?.(positionsAfter(this.#log!, behind - 1)).catch((error: Error) => {
      this.#options.emit({ kind: 'warning', message: `The broker was not told how far training is: ${error.message}` })
    })
    this.#committed = behind
  }

  #report({ unit }: StreamSource, { parts, rest, warning }: Reach): void {
    const { emit } = this.#options
    const taken = Object.values(parts).reduce((sum, [from, to]) => sum + to - from, 0)
    emit({ kind: 'stream', stream: streamName(this.#log!.stream), lag: taken + rest, unit })
    if (warning !== undefined && warning !== this.#warned)
      emit({ kind: 'warning', message: `${streamName(this.#log!.stream)}: ${warning}` })
    this.#warned = warning ?? ''
  }
}

/** Brokers and the group may change: the topic says what it is. */
const streamName = (stream: string) => stream.replace(/^kafka:\/\/[^/]+\/([^?]*).*$/, 'topic $1')

const otherStream = (before: string, now: string) =>
  new UserError(`runner.train_data_dir: this folder has a model of another stream: ${before}, not ${now}`, {
    code: 'STREAM_POSITIONS',
    hint: 'train that stream on, or name another runner.model_save_path',
  })
