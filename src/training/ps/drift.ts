/** @file How far a geo worker's dense weights have gone from those of all between two exchanges. */
import type { Slice } from '../../weights/params/index.ts'
import type { GeoMessage } from './geo-protocol.ts'

/** The distance of `own` weights from those that each server answers with, of the length of these; 0 where there are none. */
export function driftFrom(
  own: Float32Array,
  answers: readonly Pick<GeoMessage, 'dense'>[],
  slices: readonly Slice[],
): number {
  let [apart, length] = [0, 0]
  for (const [server, { dense }] of answers.entries()) {
    const { from } = slices[server]!
    for (let i = 0; i < dense.length; i++) {
      apart += (own[from + i]! - dense[i]!) ** 2
      length += dense[i]! ** 2
    }
  }
  return length > 0 ? Math.sqrt(apart / length) : 0
}
