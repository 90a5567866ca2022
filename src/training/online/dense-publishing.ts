/** @file Publishes dense weights on an interval of their own while passes train (runner.dense_publish_seconds); never beside a version that is being written. */
import type { EventSink } from '../../base/event/index.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import type { TrainingJob } from '../driver/index.ts'
import type { Publisher } from './publisher.ts'

export interface DensePublishingOptions {
  /** 0: never. */
  readonly seconds: number
  readonly publisher: Pick<Publisher, 'dense'>
  /** The job that trains, once it is opened. */
  readonly job: () => Pick<TrainingJob, 'readDense'> | undefined
  readonly emit: EventSink
}

export class DensePublishing {
  readonly #options: DensePublishingOptions
  #timer: NodeJS.Timeout | undefined
  #work: Promise<unknown> = Promise.resolve()
  /** Steps that are published. */
  #steps = 0
  #isClosed = false

  constructor(options: DensePublishingOptions) {
    this.#options = options
  }

  /** Training begins behind so many steps, which servers have. */
  start(steps: number): void {
    this.#steps = steps
    this.#plan()
  }

  /** Writes versions that have all steps so far, while nothing else is published. */
  async beside<T>(steps: number, work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(() => {
      this.#steps = steps
      return work()
    })
    this.#work = done.catch(() => undefined)
    return await done
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#work
  }

  #plan(): void {
    const { seconds } = this.#options
    if (seconds === 0 || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#work = this.#work.then(() => this.#publish()).finally(() => this.#plan())
    }, 1000 * seconds).unref()
  }

  /** What fails is said, and tried again: training does not need it. */
  async #publish(): Promise<void> {
    const { publisher, job, emit, seconds } = this.#options
    if (this.#isClosed) return
    try {
      const read = await job()?.readDense?.()
      if (!read || read.steps === this.#steps) return
      const published = await publisher.dense(read)
      if (!published) return
      this.#steps = read.steps
      const { number, day, pass, steps } = published
      emit({ kind: 'notice', message: `published dense weights ${number} (step ${steps}) over ${day}/${pass}` })
    } catch (error) {
      const text = isUserError(error) ? formatUserError(error) : (error as Error).message
      const message = `NOT PUBLISHED: dense weights; training goes on, and it is tried again in ${seconds} s. ${text}`
      emit({ kind: 'warning', message })
    }
  }
}
