/** @file What a program is given from outside. */

import { UserError } from '../../../base/util/index.ts'
import type { DType } from '../../../graph/program/index.ts'
import { defaultMainProgram } from '../program.ts'
import { Variable } from '../variable.ts'

export interface DataOptions {
  readonly name: string
  /** Per sample; a leading -1 or null for the batch may be written too. */
  readonly shape: readonly (number | null)[]
  /** @default 'float32' */
  readonly dtype?: 'float32' | 'int64'
  /** 1: any number of values per sample, for embeddings. @default 0 */
  readonly lodLevel?: number
}

export function data({ name, shape, dtype = 'float32', lodLevel = 0 }: DataOptions): Variable {
  const program = defaultMainProgram()
  const [first] = shape
  const dims = (first === -1 || first === null ? shape.slice(1) : shape) as readonly number[]
  if (dims.some((dim) => !Number.isInteger(dim) || dim < 1)) throw badShape(name, shape)
  if (program.variable(name)) throw twice(name)
  if (lodLevel > 0 && dtype !== 'int64') throw floatSequence(name)
  return new Variable(program, {
    name,
    dtype: dtype as DType,
    shape: [-1, ...dims],
    lodLevel,
    source: { kind: 'data', dims },
  })
}

function badShape(name: string, shape: readonly unknown[]): UserError {
  return new UserError(`data "${name}" has the shape [${shape}]; only its first dimension may be open`, {
    code: 'FLUID_DATA',
    hint: 'give the values of one sample, e.g. shape: [13]; data of any length is lodLevel: 1 with dtype int64',
  })
}

function twice(name: string): UserError {
  return new UserError(`there is already a variable "${name}" in this program`, {
    code: 'FLUID_DATA',
    hint: 'give each data a name of its own, or build the second network inside fluid.programGuard(new fluid.Program(), ...)',
  })
}

function floatSequence(name: string): UserError {
  return new UserError(`data "${name}" has lodLevel 1 and dtype float32; sequences hold ids`, {
    code: 'FLUID_DATA',
    hint: "write dtype: 'int64', or give float values a fixed shape and lodLevel 0",
  })
}
