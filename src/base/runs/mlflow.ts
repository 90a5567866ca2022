/** @file A run on an MLflow server, by its REST API: parameters, metrics and how it ended. A server that is away keeps nobody waiting: what it missed is sent later, or counted as lost. */
import type { Env } from '../env/index.ts'
import type { Event } from '../event/index.ts'
import { TrainedCount } from './trained-count.ts'

export interface MlflowOptions {
  /** `http://host:5000` */
  readonly server: string
  readonly experiment: string
  readonly name: string
  /** MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD. */
  readonly env: Env
  readonly warn: (message: string) => void
  /** @default WAITS */
  readonly waits?: typeof WAITS | undefined
}

interface Point {
  readonly key: string
  readonly value: number
  readonly timestamp: number
  readonly step: number
}

interface Text {
  readonly key: string
  readonly value: string
}

/** How often is sent, how long an answer may take, and how long the end of a run waits for a server that is away. */
const WAITS = { sendMs: 2000, timeoutMs: 10_000, lastMs: 5000 }
/** Of the request that makes the run: asked a second time, a server that is only slow would make a second run. */
const CREATE_MS = 120_000
const MOST_WAITING = 100_000
// Of one request, as the server allows.
const [MOST_METRICS, MOST_PARAMS] = [1000, 100]
const MOST_CHARACTERS = 500

export class MlflowRun {
  readonly #options: MlflowOptions
  readonly #trained = new TrainedCount()
  readonly #timer: NodeJS.Timeout
  #points: Point[] = []
  #params: Text[] = []
  #id: string | undefined
  #creating: Promise<string> | undefined
  #sending: Promise<void> | undefined
  readonly #waits: typeof WAITS
  /** Ends every request. */
  readonly #over = new AbortController()
  #isAway = false
  #lost = 0
  #status: 'FINISHED' | 'FAILED' | 'KILLED' = 'FAILED'

  constructor(options: MlflowOptions) {
    this.#options = options
    this.#waits = options.waits ?? WAITS
    this.#timer = setInterval(() => void this.#send(), this.#waits.sendMs).unref()
  }

  readonly add = (event: Event): void => {
    this.#trained.add(event)
    if (event.kind === 'start') this.#params.push(...paramsOf(event.settings))
    if (event.kind === 'batch' && event.phase === 'train')
      this.#measure(
        'train',
        { ...event.metrics, samples_per_second: event.samplesPerSecond },
        this.#trained.total.batches,
      )
    if (event.kind === 'epoch') this.#measure(event.phase === 'train' ? 'epoch' : 'test', event.metrics, event.epoch)
    if (event.kind === 'done') this.#status = 'FINISHED'
    if (event.kind === 'interrupted') this.#status = 'KILLED'
  }

  #measure(prefix: string, values: Readonly<Record<string, number>>, step: number): void {
    const timestamp = Date.now()
    for (const [name, value] of Object.entries(values)) {
      if (!Number.isFinite(value)) continue // JSON has no word for it
      if (this.#points.length < MOST_WAITING)
        this.#points.push({ key: `${prefix}/${keyOf(name)}`, value, timestamp, step })
      else this.#lost++
    }
  }

  /** One request after the other: points of a metric keep their order, and a slow server is not asked for more. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendAll()
      .catch((error: Error) => this.#away(error))
      .finally(() => {
        this.#sending = undefined
      })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    const { timeoutMs } = this.#waits
    this.#creating ??= this.#create().catch((error: Error) => {
      this.#creating = undefined
      throw error
    })
    this.#id ??= await answered(this.#creating, timeoutMs)
    while (this.#points.length > 0 || this.#params.length > 0) {
      const [metrics, params] = [this.#points.slice(0, MOST_METRICS), this.#params.slice(0, MOST_PARAMS)]
      await this.#post('runs/log-batch', { run_id: this.#id, metrics, params }, timeoutMs)
      this.#points = this.#points.slice(metrics.length)
      this.#params = this.#params.slice(params.length)
    }
    this.#isAway = false
  }

  async #create(): Promise<string> {
    const { experiment, name } = this.#options
    const started = Date.now()
    const about = { experiment_id: await this.#experimentId(experiment), run_name: name, start_time: started }
    const run = await this.#post('runs/create', about, CREATE_MS)
    return (run as { run: { info: { run_id: string } } }).run.info.run_id
  }

  async #experimentId(name: string): Promise<string> {
    const path = `experiments/get-by-name?experiment_name=${encodeURIComponent(name)}`
    const found = await this.#ask('GET', path, undefined, this.#waits.timeoutMs)
    if (found !== undefined) return (found as { experiment: { experiment_id: string } }).experiment.experiment_id
    return ((await this.#post('experiments/create', { name }, CREATE_MS)) as { experiment_id: string }).experiment_id
  }

  async #post(path: string, body: unknown, timeoutMs: number): Promise<unknown> {
    return await this.#ask('POST', path, body, timeoutMs)
  }

  /** Undefined: there is no such thing. */
  async #ask(method: string, path: string, body: unknown, timeoutMs: number): Promise<unknown> {
    const url = new URL(`api/2.0/mlflow/${path}`, this.#options.server.replace(/\/*$/, '/'))
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...credentials(this.#options.env) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#over.signal]),
    })
    if (method === 'GET' && response.status === 404) return undefined
    if (!response.ok) throw new Error(`${response.status} ${(await response.text()).slice(0, 200)}`)
    return await response.json()
  }

  #away(error: Error): void {
    const { server, warn } = this.#options
    const cause = (error.cause as Error | undefined)?.message
    if (!this.#isAway && !this.#over.signal.aborted)
      warn(`The MLflow server ${server} does not take this run: ${cause ?? error.message}. Trying again.`)
    this.#isAway = true
  }

  /** Resolves when all is sent, or after some seconds. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const last = setTimeout(() => this.#over.abort(), this.#waits.lastMs)
    await this.#sending
    if (!this.#over.signal.aborted) await this.#send()
    const lost = this.#lost + this.#points.length
    if (lost > 0) this.#options.warn(`${lost} values did not reach the MLflow server; the run folder has them all.`)
    if (this.#id !== undefined && !this.#isAway) {
      const ended = { run_id: this.#id, status: this.#status, end_time: Date.now() }
      await this.#post('runs/update', ended, this.#waits.lastMs).catch((error: Error) => this.#away(error))
    }
    clearTimeout(last)
    this.#over.abort()
  }
}

/** What was asked goes on; only the waiting for it ends. */
async function answered<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${timeoutMs / 1000} s`)), timeoutMs)
  })
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** Names that MLflow takes: letters, digits, _ - . / and spaces. */
const keyOf = (name: string) => name.replaceAll(/[^\w\-./ ]/g, '_')

const paramsOf = (settings: Readonly<Record<string, unknown>>): Text[] =>
  Object.entries(settings).map(([key, value]) => ({
    key: keyOf(key),
    value: (typeof value === 'string' ? value : JSON.stringify(value ?? null)).slice(0, MOST_CHARACTERS),
  }))

function credentials(env: Env): Readonly<Record<string, string>> {
  const { MLFLOW_TRACKING_TOKEN: token, MLFLOW_TRACKING_USERNAME: user, MLFLOW_TRACKING_PASSWORD: password = '' } = env
  if (token) return { authorization: `Bearer ${token}` }
  return user ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } : {}
}
