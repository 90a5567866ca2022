/** @file Publishes base and delta models: Paddle's text, Oarfish's files, or both; each folder appears whole, then the lines that name it. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { makeFolder, replaceFile, writeFolder } from '../../base/fs/index.ts'
import { formatUserError, isUserError, shown } from '../../base/util/index.ts'
import { encodeModel, toOnnxModel } from '../../graph/onnx/index.ts'
import {
  denseWeights,
  type ExportPlan,
  INFERENCE_FOLDER,
  planExport,
  writeExport,
} from '../../inference/export/index.ts'
import {
  type DenseWeights,
  openVersions,
  type PublishedRows,
  parseVersions,
  readDense,
  replay,
  VERSIONS_FILE,
  type Version,
  versionId,
  versionLine,
  writeDelta,
  writeDense,
} from '../../inference/versions/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { SAVE_MODES, type SaveMode } from '../../weights/table/index.ts'
import { firstSamples, localTableWork, type ReadDense, type WholeModel, writePaddlePlugin } from '../driver/index.ts'
import type { Days } from './days.ts'
import { addPublished, BASE_DONEFILE, lastPublished } from './donefiles.ts'
import { isFull } from './full-disk.ts'
import { pruneVersions } from './prune.ts'
import { PublishedTables } from './published-tables.ts'
import { servingParams } from './serving-params.ts'

export interface PublisherOptions {
  readonly config: JobConfig
  readonly days: Days
  readonly emit: EventSink
  readonly model: () => TracedModel
  /** Data whose first samples a base shows with their scores. */
  readonly files: () => readonly string[]
}

/** What is published and when. */
interface Place {
  readonly day: string
  readonly pass: number
  /** The base that deltas follow: unix seconds. */
  readonly key: string
  /** What the pass measured. */
  readonly monitor?: string
}

export interface Publisher {
  /** `first` is the pass that training begins with: what was published of it and of later ones is published anew. */
  open(whole: WholeModel, first: number): Promise<void>
  /** Whether it was published. */
  base(whole: WholeModel, place: Omit<Place, 'pass' | 'monitor'>): Promise<boolean>
  delta(whole: WholeModel, place: Place): Promise<void>
  /** Dense weights alone, over the rows of the version before; undefined where there is none. */
  dense(read: ReadDense): Promise<DenseWeights | undefined>
  /** Removes what is not to be kept at the end of a day. */
  prune(day: string): Promise<void>
}

export function openPublisher(options: PublisherOptions): Publisher {
  return new FolderPublisher(options)
}

class FolderPublisher implements Publisher {
  readonly #options: PublisherOptions
  readonly #root: string
  #versions: readonly Version[] = []
  /** What an earlier run had published behind the place that this one goes on from. */
  #former: readonly Version[] = []
  /** The last number of versions that cannot be read: those who follow go on where a later one comes. */
  #from = 0
  #tables: PublishedTables | undefined
  #plan: ExportPlan | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#root = options.config.runner.model_save_path
  }

  async open({ params }: WholeModel, first: number): Promise<void> {
    const { config } = this.#options
    if (this.#root === '' || !this.#writes('oarfish')) return
    const clocked = params.tables.find(({ rule, accessor }) => rule.clocked && !accessor)
    if (clocked) {
      this.#say(
        `table ${clocked.name}: its optimizer moves every row in every step, so there are no deltas in Oarfish's form; write lazy: true`,
      )
      return
    }
    const all = parseVersions(await textOf(join(this.#root, VERSIONS_FILE)), this.#root)
    const base = await lastPublished(this.#root, BASE_DONEFILE)
    // What a day begins with is published anew where the line of its base is missing.
    const isDone = (version: Version) => this.#position(version) < first - 0.5 || version.day <= (base?.day ?? '')
    const end = all.findIndex((version) => this.#position(version) >= first || !isDone(version))
    this.#versions = end < 0 ? all : all.slice(0, end)
    this.#former = all.slice(this.#versions.length)
    const rows = await this.#replayed()
    if (!rows && this.#versions.length > 0) {
      this.#versions = []
      this.#from = Math.max(...all.map(({ sequence }) => sequence))
    }
    this.#tables = new PublishedTables(params, config.runner.delta_rows, rows)
    this.#plan = planExport(this.#options.model(), {})
  }

  async base(whole: WholeModel, { day, key }: Omit<Place, 'pass' | 'monitor'>): Promise<boolean> {
    const started = performance.now()
    const folder = join(this.#root, day, 'base')
    const isPublished = await this.#attempt(`the base of day ${day}`, whole, SAVE_MODES.base, async (saveText) => {
      const before = this.#versions.at(-1)
      // What the day's end dropped goes to those who follow as a delta: they need not read a whole base.
      if (this.#tables && before)
        await this.#publishDelta(whole, { day, pass: 0, key }, join(this.#root, day, 'delta-0'), async () => undefined)
      await this.#put(
        folder,
        async (aside) => {
          await saveText(aside)
          return this.#tables && (await this.#writeBase(whole, join(aside, INFERENCE_FOLDER), { day, pass: 0, key }))
        },
        'base',
      )
    })
    if (!isPublished) return false
    const line = { id: key, input: `${shown(folder)}/000`, monitor: '' }
    await addPublished(this.#root, { day, key }, line)
    this.#say(`finished save base model day ${day} [save_model: ${(performance.now() - started) / 60_000} min]`)
    return true
  }

  async delta(whole: WholeModel, place: Place): Promise<void> {
    const started = performance.now()
    const { day, pass, key, monitor = '' } = place
    const folder = join(this.#root, day, `delta-${pass}`)
    const what = `the delta of day ${day}, pass ${pass}`
    const isPublished = await this.#attempt(what, whole, SAVE_MODES.delta, (saveText) =>
      this.#publishDelta(whole, place, folder, saveText),
    )
    if (!isPublished) return
    const now = String(Math.floor(Date.now() / 1000))
    const isNew = await addPublished(
      this.#root,
      { day, pass, key },
      { id: now, input: `${shown(folder)}/000`, monitor },
    )
    if (!isNew) this.#say('delta model exists')
    this.#say(`finished save delta model epoch ${pass} [save_model: ${(performance.now() - started) / 60_000} min]`)
  }

  async dense({ weights, steps }: ReadDense): Promise<DenseWeights | undefined> {
    const over = this.#versions.at(-1)
    if (!over || !this.#plan) return undefined
    const number = ((await readDense(this.#root).catch(() => undefined))?.number ?? 0) + 1
    const { id, day, pass } = over
    return await writeDense(this.#root, { number, over: id, day, pass, steps, model: this.#encoded(weights) })
  }

  async prune(day: string): Promise<void> {
    if (this.#root === '') return
    this.#versions = await pruneVersions({ ...this.#options, root: this.#root, versions: this.#versions, day })
  }

  /** Without a base to follow, a whole one takes the delta's place. */
  async #publishDelta(whole: WholeModel, place: Place, folder: string, saveText: (aside: string) => Promise<void>) {
    const before = this.#versions.at(-1)
    await this.#put(
      folder,
      async (aside) => {
        await saveText(aside)
        if (!this.#tables) return undefined
        const into = join(aside, INFERENCE_FOLDER)
        return before ? await this.#writeDelta(whole, into, place, before) : await this.#writeBase(whole, into, place)
      },
      before ? 'delta' : 'base',
    )
  }

  /** Fills a folder, puts it in its place, then adds its line. */
  async #put(
    folder: string,
    fill: (aside: string) => Promise<Written | undefined>,
    kind: Version['kind'],
  ): Promise<void> {
    await makeFolder(join(folder, '..'))
    const written = await writeFolder(folder, fill)
    if (!written) return
    const before = this.#versions.at(-1)
    const { day, pass, id, ...counts } = written
    const version: Version = {
      sequence: (before?.sequence ?? this.#from) + 1,
      ...{
        kind,
        day,
        pass,
        path: [day, pass === 0 && kind === 'base' ? 'base' : `delta-${pass}`, INFERENCE_FOLDER].join('/'),
      },
      ...{ id, follows: before?.id ?? null, base: kind === 'base' ? id : before!.base },
      ...counts,
      publishedAt: new Date().toISOString(),
    }
    // The same as an earlier run published: those who follow it have it already.
    const former = this.#former.find((one) => one.id === id && one.path === version.path)
    const { publishedAt } = former ?? version
    const versions = [...this.#versions, { ...version, publishedAt }]
    await replaceFile(join(this.#root, VERSIONS_FILE), versions.map(versionLine).join(''))
    this.#versions = versions
    this.#tables!.settle()
    const { sequence } = version
    const what = { version: kind, sequence, day, pass, ...counts, publishedAt: Date.parse(publishedAt) }
    this.#options.emit({ kind: 'published', ...what })
  }

  async #writeDelta(whole: WholeModel, folder: string, place: Place, before: Version): Promise<Written> {
    const { day, pass } = place
    const tables = await this.#tables!.changes(whole, pass === 0)
    const model = this.#encoded(denseWeights(whole.params))
    await mkdir(folder)
    const steps = whole.params.dense.steps
    const { sequence, id: follows, base } = before
    const { crc32, bytes } = await writeDelta({
      folder,
      model,
      tables,
      day,
      pass,
      steps,
      follows,
      base,
      sequence: sequence + 1,
    })
    const count = (of: (table: (typeof tables)[number]) => number) => tables.reduce((sum, table) => sum + of(table), 0)
    const id = versionId(follows, [crc32])
    return { day, pass, id, bytes, rows: count(({ signs }) => signs.length), gone: count(({ gone }) => gone.length) }
  }

  async #writeBase(whole: WholeModel, folder: string, { day, pass }: Place): Promise<Written> {
    const { config, model, files, days } = this.#options
    await this.#tables!.changes(whole, true)
    const published = this.#tables!.rows
    const params = servingParams(config, model(), whole.params, published)
    const first = await firstSamples(config, model(), { train: files() })
    const epoch = Math.max(0, days.epochOf(day, pass))
    const { seed } = config.runner
    const manifest = await writeExport({ folder, plan: this.#plan!, params, epoch, seed, ...first })
    const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0)
    const rows = published.reduce((sum, table) => sum + table.rows, 0)
    const content = [...published.map(({ digest }) => digest), manifest.files[manifest.model.file]!.crc32]
    const id = versionId(this.#versions.at(-1)?.id ?? '', content)
    return { day, pass, id, bytes, rows, gone: 0 }
  }

  #encoded(weights: ReadonlyMap<string, Float32Array>): Uint8Array {
    return encodeModel(toOnnxModel(this.#plan!.program, { weights }))
  }

  /** A disk that is full does not end training: it is said, and what could not be published goes with the next delta. Returns whether it was published. */
  async #attempt(
    what: string,
    whole: WholeModel,
    mode: SaveMode,
    publish: (saveText: (aside: string) => Promise<void>) => Promise<void>,
  ): Promise<boolean> {
    const work = whole.work ?? localTableWork(this.#options.config, whole.params)
    let [isSettled, isPublished] = [false, true]
    const saveText = async (aside: string) => {
      if (!this.#writes('paddle')) return
      await work.saveText(aside, mode)
      isSettled = true
      await writePaddlePlugin(this.#options.model(), whole.params, aside)
    }
    try {
      await publish(saveText)
    } catch (error) {
      if (!isFull(error)) throw error
      isPublished = false
      this.#tables?.owe()
      const text = isUserError(error) ? formatUserError(error) : (error as Error).message
      const next = this.#tables ? ', and the next delta for servers that follow brings what is missing' : ''
      const message = `NOT PUBLISHED: ${what}; training goes on${next}. ${text}`
      this.#options.emit({ kind: 'warning', message })
    }
    if (!isSettled) await work.settle(mode)
    return isPublished
  }

  #writes(format: 'paddle' | 'oarfish'): boolean {
    const { delta_format } = this.#options.config.runner
    return delta_format === 'both' || delta_format === format
  }

  /** When it was published, in passes: what a day begins with lies between two. */
  #position({ day, pass }: Version): number {
    const { days } = this.#options
    return pass === 0 ? days.epochOf(day, 1) - 0.5 : days.epochOf(day, pass)
  }

  /** The rows of the version that this run goes on from; none where they cannot be had: then a base comes first. */
  async #replayed(): Promise<readonly PublishedRows[] | undefined> {
    const last = this.#versions.at(-1)
    if (!last) return undefined
    try {
      return (await replay(openVersions(this.#root), this.#versions, last)).tables
    } catch (error) {
      const text = isUserError(error) ? formatUserError(error) : (error as Error).message
      this.#options.emit({
        kind: 'warning',
        message: `A base is published first, since what was published cannot be read: ${text}`,
      })
      return undefined
    }
  }

  #say(message: string): void {
    this.#options.emit({ kind: 'notice', message })
  }
}

interface Written extends Pick<Version, 'day' | 'pass' | 'id' | 'rows' | 'gone' | 'bytes'> {}

async function textOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
}
