/** @file A trainer thread's way to weights that ranks train in step: plain data, shared memories and a seat in the group. */
import { openSeat, type SeatHandle } from '../../collective/index.ts'
import type { Clip } from '../../optim/index.ts'
import type { LocalParams, LocalParamsHandle } from '../../params/index.ts'
import type { Program } from '../../program/index.ts'
import { ParallelParams } from './parallel-params.ts'
import { KernelUnion } from './sign-union.ts'

export interface ParallelHandle {
  readonly kind: 'parallel'
  readonly local: LocalParamsHandle
  /** Its port goes into the transfer list. */
  readonly seat: SeatHandle
  readonly program: Pick<Program, 'state' | 'tables'>
  /** By table: its slot group; whether every rank has its own part of the rows. */
  readonly groups: readonly number[]
  readonly sharded: readonly boolean[]
  readonly segments: number
  /** Steps of ranks may have gradients for different weights. */
  readonly differ: boolean
}

export function openParallel(handle: ParallelHandle, local: LocalParams, clip: Clip | undefined): ParallelParams {
  const { seat, segments } = handle
  const { dense } = local
  return new ParallelParams({
    ...handle,
    ranks: openSeat(seat),
    inner: local,
    layout: dense.layout,
    room: { values: dense.room, put: (from, start, end, factor) => dense.putWeighed(from, start, end, factor) },
    counted: local.tables.map(({ accessor }) => accessor !== undefined),
    open: (dims) => new KernelUnion(dims, segments),
    zeros: (length) => new Float32Array(length),
    ...(clip && { clip }),
  })
}
