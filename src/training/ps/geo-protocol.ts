/** @file What a geo worker and a server say to each other, as bytes: a push, and behind it the state of rows. */
import type { HalfCoder } from '../../base/kernel/index.ts'
import type { Parts } from '../../base/net/index.ts'
import { bytesOf } from '../../base/util/index.ts'
import type { SignGroups, Values } from '../../weights/params/index.ts'
import type { RowShape } from './geo-rules.ts'
import { decodePush, encode, type PushRequest } from './protocol.ts'
import { denseRun, type Precision, plainRun, rowRun } from './runs.ts'

/** What geo sends both ways: rows and dense values with the signs they belong to. */
export interface GeoMessage extends SignGroups, Pick<PushRequest, 'gradients' | 'dense' | 'sequence' | 'halved'> {
  /** By table, [signs, runs * dim]: the optimizer's state, which always travels with all its bits. */
  readonly states: readonly Values[]
  /** From a worker, by group: how often it has updated each row since it last brought it in; none where no table has state. */
  readonly touches: readonly Values[]
  /** From a worker: optimizer steps since it last said so. From a server: those of all workers. */
  readonly steps: number
  /** From a server: further rows have changed, and are had by asking again. */
  readonly isMore: boolean
}

const [IS_MORE, TOUCHES] = [1, 2]

export function encodeGeo(message: GeoMessage): Parts {
  const { steps, isMore, sequence, gradients, states, touches, dense, halved, ...signs } = message
  const head = bytesOf(Uint32Array.of(steps, (isMore ? IS_MORE : 0) | (touches.length > 0 ? TOUCHES : 0)))
  const runs = [...gradients.flatMap((run) => rowRun(run, halved)), ...denseRun(dense, halved)]
  const more = [...states, ...touches].flatMap((run) => plainRun(run))
  // As of a push: what is of no sample has no dense values.
  return [head, ...encode(signs, [0, 0, dense.length > 0 ? 1 : 0, sequence], [...runs, ...more], halved)]
}

/** Views on the body, as of decodePush. */
export function decodeGeo(
  body: Uint8Array<ArrayBuffer>,
  precision: Precision,
  shapes: readonly RowShape[],
  dense: number,
  coder: HalfCoder,
): GeoMessage {
  const [steps = 0, flags = 0] = new Uint32Array(body.buffer, body.byteOffset, 2)
  const dims = shapes.map(({ dim }) => dim)
  const { runs, ...pushed } = decodePush(body.subarray(8), precision, dims, dense, coder)
  const { groups, tableGroups } = pushed
  const states = tableGroups.map((group, t) => {
    const { dim, decays } = shapes[t]!
    return runs.plain(precision, groups[group]!.signs.length * dim * decays.length)
  })
  const touches = flags & TOUCHES ? groups.map(({ signs }) => runs.plain(precision, signs.length)) : []
  return { ...pushed, states, touches, steps, isMore: (flags & IS_MORE) > 0 }
}
