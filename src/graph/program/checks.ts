/** @file What a user may get wrong when declaring inputs, and what to do about it. */
import { formatWhere, isDebugNan, shown, suggest, UserError, userPlace } from '../../base/util/index.ts'
import { type Dim, formatShape, isSymbol } from './dim.ts'
import type { ParameterSpec, RowsSpec } from './program.ts'

export function checkRows({ name, slots, dim, pooling }: RowsSpec): void {
  const fail = (message: string, hint: string): never => {
    throw new UserError(`Embedding ${name}: ${message}`, { code: 'PROGRAM_ROWS', hint })
  }
  if (slots.length === 0) fail('no slots were given.', 'Name at least one sparse slot.')
  if (pooling === 'sequence' && slots.length !== 1)
    fail(
      `sequence pooling takes one slot, not ${slots.length}.`,
      'Make one embedding per sequence slot; they may share a table.',
    )
  if (!Number.isInteger(dim) || dim < 1) fail(`dim is ${dim}.`, 'Give a whole number of 1 or more.')
  const repeated = slots.find((slot, i) => slots.indexOf(slot) !== i)
  if (repeated !== undefined) fail(`slot ${repeated} stands twice.`, 'Name each slot once.')
}

export function checkDim(name: string, dim: Dim): void {
  if (typeof dim === 'number' ? Number.isInteger(dim) && dim > 0 : typeof dim === 'string' && isSymbol(dim)) return
  throw new UserError(`The input ${name} has the dimension ${String(dim)}.`, {
    code: 'PROGRAM_SHAPE',
    hint: `Say how many values a sample has of it: dense('${name}', 13). In a graph of your own a symbol such as ${JSON.stringify(suggest(String(dim), ['B', 'T']) ?? 'B')} stands for a size that varies.`,
  })
}

export function checkParameter(name: string, { shape }: ParameterSpec): void {
  if (shape.every((dim) => Number.isInteger(dim) && dim > 0)) return
  throw new UserError(`Parameter ${name} has the shape ${formatShape(shape)}.`, {
    code: 'PROGRAM_SHAPE',
    hint: 'A weight needs whole, positive dimensions; reshape a symbolic one away.',
  })
}

/** A layer or input without a name. */
export function unnamed(kind: string): UserError {
  return new UserError(`It has no name, under which its ${kind} ${kind === 'rows' ? 'are' : 'is'} kept and saved.`, {
    code: 'PROGRAM_NAME',
    hint: "Give it one: { name: 'user', ... }",
  })
}

/** The line of a user's file that is being run; looked for with --debug-nan alone, since it takes time. */
export function currentPlace(): string | undefined {
  if (!isDebugNan()) return undefined
  const place = userPlace(new Error().stack)
  return place && formatWhere({ file: shown(place.file), line: place.line })
}
