/** @file Parameters of hybrid training: rows on servers, each rank at its own pace; dense weights in every rank, stepped together. */
import type { TraceContext } from '../../../base/trace/index.ts'
import { type BatchParams, denseOf, type Params, rowsOf } from '../../../weights/params/index.ts'
import type { RemoteParamsHandle } from '../../ps/index.ts'
import type { ParallelHandle, ParallelParams } from './parallel-params.ts'

export interface HybridHandle {
  readonly kind: 'hybrid'
  readonly rows: RemoteParamsHandle
  /** Without tables. */
  readonly dense: ParallelHandle
}

export interface HybridOptions {
  readonly rows: Params
  readonly dense: ParallelParams
  readonly training: boolean
  /** The step clips gradients before it pushes them: dense ones may not go on their way earlier. */
  readonly clipped: boolean
}

export class HybridParams implements Params {
  readonly begin?: (share: BatchParams) => void
  readonly links: Params['links']
  readonly #options: HybridOptions

  constructor(options: HybridOptions) {
    this.#options = options
    this.links = [...(options.rows.links ?? []), ...(options.dense.links ?? [])]
    if (!options.clipped) this.begin = (share) => options.dense.begin(denseOf(share))
  }

  traced(context: TraceContext): void {
    this.#options.rows.traced?.(context)
  }

  /** Rows may be asked for while the batch before is computed; dense weights for training come by refresh, when its step is made. */
  async pull(share: BatchParams, insert: boolean): Promise<void> {
    const { rows, dense } = this.#options
    if (!insert) await dense.pull(denseOf(share), false)
    await rows.pull(rowsOf(share), insert)
  }

  async refresh(share: BatchParams): Promise<void> {
    const { dense, training } = this.#options
    if (training) await dense.pull(denseOf(share), true)
  }

  async push(share: BatchParams): Promise<number> {
    const { rows, dense } = this.#options
    const sent = Promise.resolve(rows.push(rowsOf(share)))
    sent.catch(() => undefined) // thrown below
    const step = await dense.push(denseOf(share))
    await sent
    return step
  }

  async flush(): Promise<void> {
    await this.#options.rows.flush()
  }
}
