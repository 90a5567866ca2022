/** @file A geo worker's parameters: rows in a copy of its own, dense weights on the servers, which every batch's gradients go to. */
import { type BatchParams, type DenseWindow, denseOf, type Params, rowsOf } from '../../weights/params/index.ts'

/**
 * Every batch changes all dense weights, so that copies of them, trained apart and brought together, never are what one process would have:
 * the servers' one optimizer sees every gradient, as in async. Rows, each of which few batches change, are trained as in one process.
 */
export class GeoParams implements Params {
  /** The servers make their step while gradients of rows are merged. */
  readonly begin?: (share: BatchParams) => void
  readonly #rows: Params
  readonly #dense: Params
  #sent: Promise<number> | undefined

  /** `clipped`: the step clips gradients before it pushes them; dense ones may not go on their way earlier. */
  constructor(rows: Params, dense: Params, clipped = false) {
    this.#rows = rows
    this.#dense = dense
    if (clipped) return
    this.begin = (share) => {
      this.#sent = this.#send(share)
    }
  }

  /** Of dense weights; rows travel by the worker's exchanges. */
  get links(): Params['links'] {
    return this.#dense.links
  }

  get window(): DenseWindow | undefined {
    return this.#dense.window
  }

  async pull(share: BatchParams, insert: boolean): Promise<void> {
    const came = this.#dense.pull(denseOf(share), insert)
    await this.#rows.pull(rowsOf(share), insert)
    await came
  }

  refresh(share: BatchParams): void | Promise<void> {
    return this.#dense.refresh?.(denseOf(share))
  }

  /** The copy counts the batches that rows were trained by; the servers' count comes with each exchange. */
  async push(share: BatchParams): Promise<number> {
    const sent = this.#sent ?? this.#send(share)
    this.#sent = undefined
    const step = await this.#rows.push(rowsOf(share))
    await sent
    return step
  }

  #send(share: BatchParams): Promise<number> {
    const sent = Promise.resolve(this.#dense.push(denseOf(share)))
    sent.catch(() => undefined) // thrown by push
    return sent
  }

  flush(): void | Promise<void> {
    return this.#dense.flush()
  }
}
