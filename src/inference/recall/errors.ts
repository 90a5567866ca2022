/** @file What can be wrong with vectors and indexes, in words. Each code has a section in docs/reference/errors.md. */
import { suggest, UserError } from '../../base/util/index.ts'

export function noVectors(kind: 'item' | 'user'): UserError {
  return new UserError(`the model says nothing of vectors of ${kind}s: net() returns no vectors.${kind}`, {
    code: 'VECTORS_NONE',
    hint: 'return { loss, outputs, vectors: { user, item: { id: item, vector } } } from net(), as models/recall/two_tower does (docs/guide/recall.md)',
  })
}

export function itemsNeeded(slots: readonly string[]): UserError {
  const why =
    slots.length > 0
      ? `an item's vector also needs ${slots.join(', ')}, which no table knows`
      : 'the model names no slot with the id of an item'
  return new UserError(`the items are not known: ${why}`, {
    code: 'VECTORS_ITEMS',
    hint: 'name a file with a line for each item, in the form of the training data: --from items.txt',
  })
}

export function emptyItems(from: string): UserError {
  return new UserError(`there are no items: ${from} has none`, {
    code: 'VECTORS_EMPTY',
    hint: 'train first, or name a file of items that has lines: --from items.txt',
  })
}

export function tooMany(count: number, most: number): UserError {
  const text = (value: number) => value.toLocaleString('en-US')
  return new UserError(`${text(count)} items are more than the ${text(most)} of this width that an index holds`, {
    code: 'VECTORS_ITEMS',
    hint: 'name the items that may be found: --from items.txt',
  })
}

export function badItem(file: string, line: number, message: string): UserError {
  return new UserError(message, {
    code: 'VECTORS_ITEMS',
    where: { file, line },
    hint: 'give one id a line, a whole number from 0 to 2^64-1, or lines in the form of the training data',
  })
}

export function repeatedItem(id: bigint): UserError {
  return new UserError(`item ${id} is there twice`, { code: 'VECTORS_ITEMS', hint: 'give each item one line' })
}

export function notVectors(file: string, what: 'vectors' | 'an index', reason: string): UserError {
  return new UserError(`this is not a folder of ${what} that can be read: ${reason}`, {
    code: 'VECTORS_FOREIGN',
    where: { file },
    hint:
      what === 'vectors'
        ? 'name a folder written by `oarfish export -m config.yaml --vectors item --out DIR`'
        : 'name a folder written by `oarfish index -m config.yaml --out DIR`',
  })
}

export function damaged(file: string, reason: string): UserError {
  return new UserError(`this file cannot be used: ${reason}`, {
    code: 'VECTORS_DAMAGED',
    where: { file },
    hint: 'copy the folder again from where it came, or write it again with `oarfish index`',
  })
}

export function notReplaced(folder: string): UserError {
  return new UserError(`${folder} holds something else, which would be lost`, {
    code: 'VECTORS_WRITE',
    hint: 'name a folder that is not there yet, is empty, or holds what the same command wrote before',
  })
}

export function cannotWrite(folder: string, cause: NodeJS.ErrnoException): UserError {
  return new UserError(`vectors cannot be written to ${folder}: ${cause.message}`, {
    code: 'VECTORS_WRITE',
    hint: 'name a folder that can be written, on a disk with room',
    cause,
  })
}

/** Keys that two models differ in, with both values. */
export function otherModel(what: string, differing: readonly string[]): UserError {
  return new UserError(`${what} of another model: ${differing.join('; ')}`, {
    code: 'INDEX_MODEL',
    hint: 'write both from the same saved epoch: oarfish index -m config.yaml --out DIR',
  })
}

export function unknownItem(id: string): UserError {
  return new UserError(`the index has no item ${id}`, {
    code: 'RECALL_ITEM',
    hint: 'ask for an item that was there when the index was written, or write it again with `oarfish index`',
  })
}

export function itemsAlone(folder: string): UserError {
  return new UserError(`the index in ${folder} has items alone: its model makes no vector of a user`, {
    code: 'INDEX_USER',
    hint: 'return vectors: { user, item } from net() and write the index again; `oarfish predict --index DIR --items FILE` finds items like others',
  })
}

export function wrongK(k: unknown, most: number): UserError {
  return new UserError(`k is ${String(k)}`, {
    code: 'RECALL_K',
    hint: `ask for a whole number of items from 1 to ${most.toLocaleString('en-US')}; where the index has fewer, all are given`,
  })
}

export function unknownSlot(slot: string, known: readonly string[]): UserError {
  const meant = suggest(slot, known)
  return new UserError(`there is no slot "${slot}" to leave items of out${meant ? `; did you mean "${meant}"?` : ''}`, {
    code: 'RECALL_EXCLUDE',
    hint: `name a slot that the user's vector is made of: ${known.join(', ')}`,
  })
}
