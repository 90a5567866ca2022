/** @file What a model for recall says of its vectors: checked where the net returns them, traced as a program of their own. */
import { UserError, type Where } from '../base/util/index.ts'
import type { SparseSlot } from '../graph/nn/index.ts'
import type { Builder, Program, Tensor } from '../graph/program/index.ts'
import type { ModelVectors } from './contract.ts'
import { isObject } from './fields.ts'

/** Names of their fetches, which no input has. */
export const VECTOR = { item: 'vector:item', user: 'vector:user', taken: 'vector:taken' } as const

/** Vectors as plain data. */
export interface TracedVectors {
  /** Forward only, as for evaluation. Fetches VECTOR.item, and where the model has them VECTOR.user and VECTOR.taken. */
  readonly program: Program
  /** The slot whose sign is an item's id. Without it items are numbered from 0. */
  readonly id?: string | undefined
  /** The slot whose last sign is the item that was taken, where `taken` is no fetch. */
  readonly takenSlot?: string | undefined
}

export const isTensor = (value: unknown): value is Tensor => isObject(value) && 'builder' in value && 'shape' in value
const isSlot = (value: unknown): value is SparseSlot =>
  isObject(value) && (value as { kind?: unknown }).kind === 'sparse'

export function traceVectors(vectors: ModelVectors, builder: Builder): TracedVectors {
  checkVectors(vectors)
  const { user, item, taken } = vectors
  const own = isTensor(item) ? { vector: item, id: undefined } : item
  const fetches = {
    [VECTOR.item]: own.vector,
    ...(user && { [VECTOR.user]: user }),
    ...(taken && isTensor(taken) && { [VECTOR.taken]: taken }),
  }
  const slot = taken === undefined ? own.id : isTensor(taken) ? undefined : taken
  return { program: builder.build(fetches), id: own.id?.name, takenSlot: slot?.name }
}

/** Throws where items and users cannot be compared, or where nobody could say which item is which. */
export function checkVectors(vectors: unknown, where?: Where): asserts vectors is ModelVectors {
  const wrong = (message: string, hint = RETURN) =>
    new UserError(`vectors: ${message}`, { code: 'MODEL_VECTORS', where, hint })
  if (!isObject(vectors)) throw wrong('expected an object with item and user')
  const { user, item, taken } = vectors as Partial<ModelVectors>
  const vector = isTensor(item) ? item : item?.vector
  if (!isTensor(vector)) throw wrong('there is no item')
  if (!isTensor(item) && !isSlot(item!.id)) throw wrong("item.id: expected a slot, what sparse('item') returned")
  const dim = vector.shape[1]
  if (vector.shape.length !== 2 || typeof dim !== 'number')
    throw wrong(`item is ${shown(vector)}`, 'Give one vector an item, [B, dim], or those of all items, [items, dim].')
  if (vector.shape[0] !== 'B' && !isTensor(item))
    throw wrong(`item has an id, and ${shown(vector)} is of all items`, 'Leave id out: they are numbered from 0.')
  if (user !== undefined && !isTensor(user)) throw wrong('user is no tensor')
  if (user && (user.shape[0] !== 'B' || ![2, 3].includes(user.shape.length) || user.shape.at(-1) !== dim))
    throw wrong(
      `user is ${shown(user)} and item ${shown(vector)}`,
      `Give vectors that have an inner product: [B, ${dim}], or [B, interests, ${dim}].`,
    )
  if (taken === undefined || isSlot(taken)) return
  if (!isTensor(taken) || taken.dtype !== 'int64' || taken.shape[0] !== 'B' || taken.shape[1] !== 1)
    throw wrong(
      'taken: expected a slot, or an int64 tensor [B, 1]',
      "Give what sparse('item') or label('item') returned.",
    )
}

const shown = ({ shape }: Tensor) => `[${shape.join(', ')}]`
const RETURN = 'return { loss, outputs, vectors: { user, item: { id: item, vector } } } from net (docs/guide/recall.md)'
