/** @file Steps of a single thread in geo: a copy of the model to train, exchanged with the servers every so many steps. */
import { createLocalParams, LocalParams, type Params, type ParamsShare } from '../params/index.ts'
import { type Call, GeoExchange, type Placement, type RowBlock, type Slice, TouchedParams } from '../ps/index.ts'
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
  const local = createLocalParams({ program: train, optimizer, tableOptimizers, seed, segments, threads: 3 })
  // Programs written for Paddle, by its rule: dense weights too wait for hundreds of steps, too long for the larger ones of `whole`.
  const exchange = new GeoExchange({ ...options, program: train, seed, segments, local, thread: 1, delta: 'share' })
  const params = new TouchedParams(new LocalParams(local, 0))
  let steps = 0
  let begun: Promise<void> | undefined
  return {
    pull: async (share: ParamsShare, insert: boolean) => {
      begun ??= exchange.begin(rows)
      await begun
      await params.pull(share, insert)
    },
    push: async (share: ParamsShare) => {
      const step = await params.push(share)
      if (++steps % geoStep === 0) await exchange.run([params.take()])
      return step
    },
    flush: () => exchange.settle([params.take()]),
    close: () => exchange.settle([params.take()]),
  }
}
