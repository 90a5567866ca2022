/** @file Weights of a program's own steps: in geo a copy to train, exchanged with the servers every so many steps; and Params that take part in training from their first push on. */
import { type Call, createCopy, GeoExchange, type RowBlock, TouchedParams } from '../../training/ps/index.ts'
import { type BatchParams, LocalParams, type Params, type Slice } from '../../weights/params/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import type { TrainingProgram } from './training-program.ts'

export interface GeoParamsOptions {
  readonly program: TrainingProgram
  readonly segments: number
  readonly slices: readonly Slice[]
  readonly placement: Placement
  readonly call: Call
  readonly geoStep: number
  readonly workers: number
  /** Rows of a table as the servers have them. */
  readonly rows: (table: number) => AsyncIterable<RowBlock>
}

export function openGeoParams({ program, segments, geoStep, rows, ...options }: GeoParamsOptions): Params {
  const { train, optimizer, tableOptimizers } = program.model
  const { seed } = program
  // This thread's, and the two that the exchange uses.
  const local = createCopy({ program: train, optimizer, tableOptimizers, seed, segments, threads: 3 }, 'share')
  // Programs written for Paddle, by its rule: dense weights too wait for hundreds of steps, too long for the larger ones of `whole`.
  const exchange = new GeoExchange({ ...options, segments, local, thread: 1, delta: 'share' })
  const params = new TouchedParams(new LocalParams(local, 0))
  let steps = 0
  let begun: Promise<void> | undefined
  return {
    pull: async (share: BatchParams, insert: boolean) => {
      begun ??= exchange.begin(rows)
      await begun
      await params.pull(share, insert)
    },
    push: async (share: BatchParams) => {
      const step = await params.push(share)
      if (++steps % geoStep === 0) await exchange.run([params.take()])
      return step
    },
    flush: () => exchange.settle([params.take()]),
  }
}

/** `join` is called once, before the first push. */
export function joinedParams(inner: Params, join: () => Promise<void>): Params {
  let joined: Promise<void> | undefined
  const params: Params = {
    pull: (share, insert) => inner.pull(share, insert),
    push: async (share) => {
      joined ??= join()
      await joined
      return inner.push(share)
    },
    flush: () => inner.flush(),
  }
  if (inner.refresh) params.refresh = (share) => inner.refresh!(share)
  return params
}
