/** @file What layers ask of their operand's shape. */

import { UserError } from '../../base/util/index.ts'
import { formatShape, type Tensor, tensorOf } from '../program/index.ts'

/** The last dimension: a number, since weights are shaped by it. */
export function widthOf(x: Tensor, layer: string): number {
  const { shape } = tensorOf(x, layer)
  const width = shape.at(-1)
  if (typeof width === 'number') return width
  throw new UserError(
    `${layer}: the last dimension of ${formatShape(shape)} is not known, so its weight has no shape.`,
    { code: 'NN_SHAPE', hint: 'Reshape so that the last dimension is a number.' },
  )
}

/** The length of a padded sequence [B, T, d]: a number, since the layer is unrolled over it. */
export function lengthOf({ shape }: Tensor, layer: string): number {
  const length = shape[1]
  if (shape.length === 3 && typeof length === 'number') return length
  throw new UserError(`${layer} is unrolled over [B, T, d] and must know T, but was given ${formatShape(shape)}.`, {
    code: 'NN_SHAPE',
    hint: 'Give the padded length: sequenceEmbedding(slot, { length: 32, ... }).',
  })
}
