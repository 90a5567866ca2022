/** @file Steps of a single thread in geo: a copy of the model to train, exchanged with the servers every so many steps. */
import { createLocalParams, LocalParams, type Params, type ParamsShare } from '../params/index.ts'
import { type Call, GeoExchange, type Placement, type Slice, TouchedParams } from '../ps/index.ts'
import type { TrainingProgram } from './training-program.ts'

export interface GeoParamsOptions {
  readonly program: TrainingProgram
  readonly segments: number
  readonly slices: readonly Slice[]
  readonly placement: Placement
  readonly call: Call
  readonly geoStep: number
  readonly workers: number
}

export function openGeoParams({ program, segments, geoStep, ...options }: GeoParamsOptions): Params {
  const { train, optimizer, tableOptimizers } = program.model
  const { seed } = program
  // This thread's, and the two that the exchange uses.
  const local = createLocalParams({ program: train, optimizer, tableOptimizers, seed, segments, threads: 3 })
  const exchange = new GeoExchange({ ...options, program: train, seed, segments, local, thread: 1 })
  const params = new TouchedParams(new LocalParams(local, 0))
  let steps = 0
  return {
    pull: (share: ParamsShare, insert: boolean) => params.pull(share, insert),
    push: async (share: ParamsShare) => {
      const step = await params.push(share)
      if (++steps % geoStep === 0) await exchange.run([params.take()])
      return step
    },
    flush: () => exchange.settle([params.take()]),
    close: () => exchange.settle([params.take()]),
  }
}
