/** @file Runs of the accuracy table, each kept as a line of a file: what was measured once is not measured again. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Quality, qualityOf } from './measure.ts'
import { type ModelName, type OpenedModel, type OptimizerName, openModel } from './models.ts'
import { batchesOf, type DataName, openSamples, type SampleSet } from './samples.ts'
import { type GeoSettings, type Mode, simulate } from './simulate.ts'

/** Everything that a result depends on. */
export interface RunSettings {
  readonly model: ModelName
  readonly data: DataName
  readonly optimizer: OptimizerName
  readonly mode: Mode
  readonly workers: number
  readonly seed: number
  readonly rows: number
  readonly testRows: number
  readonly batchSize: number
  /** Which version of the mode's rule. */
  readonly rule?: string
  readonly geo?: GeoSettings
}

export interface RunResult extends Quality {
  readonly seconds: number
}

export class Runs {
  readonly #file: string
  readonly #folder: string | undefined
  readonly #known = new Map<string, RunResult>()
  readonly #models = new Map<string, Promise<OpenedModel>>()
  /** The last set only: one takes some hundred megabytes. */
  #samples: { readonly key: string; readonly set: SampleSet } | undefined

  constructor(file: string, folder: string | undefined) {
    this.#file = file
    this.#folder = folder
    if (!existsSync(file)) return
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const { settings, ...result } = JSON.parse(line) as RunResult & { settings: RunSettings }
      this.#known.set(keyOf(settings), result)
    }
  }

  /** The result of a run, from the file or measured now. */
  async get(settings: RunSettings): Promise<RunResult> {
    const known = this.#known.get(keyOf(settings))
    if (known) return known
    const result = await this.#measure(settings)
    this.#known.set(keyOf(settings), result)
    mkdirSync(dirname(this.#file), { recursive: true })
    appendFileSync(this.#file, `${JSON.stringify({ settings, ...result })}\n`)
    return result
  }

  async #measure({ model: name, optimizer, mode, workers, seed, batchSize, geo, ...data }: RunSettings) {
    const opened = await this.#model(name, optimizer)
    const { train, test } = this.#set(name, { ...data, seed }, opened)
    const started = performance.now()
    const tasks = await simulate({
      ...{ ...opened, mode, workers, seed, batchSize, ...(geo && { geo }) },
      train: batchesOf(train, batchSize),
      test: batchesOf(test, 512),
    }).catch((error: Error & { code?: string }) => {
      if (error.code !== 'LOSS_NOT_FINITE') throw error
      return undefined
    })
    const quality = tasks ? qualityOf(tasks) : DIVERGED
    return { ...quality, seconds: Math.round((performance.now() - started) / 100) / 10 }
  }

  #model(name: ModelName, optimizer: OptimizerName): Promise<OpenedModel> {
    const key = `${name} ${optimizer}`
    const known = this.#models.get(key) ?? openModel(name, optimizer)
    this.#models.set(key, known)
    return known
  }

  #set(model: ModelName, options: Pick<RunSettings, 'data' | 'rows' | 'testRows' | 'seed'>, opened: OpenedModel) {
    const { data, rows, testRows, seed } = options
    const key = JSON.stringify([SLOTS_OF[model], data, rows, testRows, seed])
    if (this.#samples?.key === key) return this.#samples.set
    const set = openSamples({ data, rows, testRows, seed, folder: this.#folder }, opened.model.slots)
    this.#samples = { key, set }
    return set
  }
}

/** Models that read the same slots. */
const SLOTS_OF: Readonly<Record<ModelName, string>> = {
  dnn: 'ctr',
  deepfm: 'ctr',
  dcn_v2: 'ctr',
  din: 'din',
  mmoe: 'mmoe',
}

/** What chance gives: a loss that is not a number ends a run. */
const DIVERGED: Quality = { auc: 0.5, logLoss: 10, copc: 0 }

function keyOf(settings: RunSettings): string {
  return JSON.stringify(settings, (_, value: unknown) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}
