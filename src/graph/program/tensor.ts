/** @file Tensors: handles on a program's values, and how the numbers behind them are read in a dynamic graph. */
import { UserError } from '../../base/util/index.ts'
import type { Builder } from './builder.ts'
import type { TensorType } from './program.ts'

/** The values of a tensor in row-major order. */
export type TensorValues = Float32Array | Float64Array | BigInt64Array | Int32Array | Uint8Array

/** A symbolic value: what ops take and return. It holds no numbers. */
export interface Tensor extends TensorType {
  readonly builder: Builder
  readonly id: number
  /** The number that a tensor of one element is in this step: `await t.item()`, in a dynamic graph only. */
  item(): Promise<number>
  /** All numbers of this step in row-major order: `await t.data()`, in a dynamic graph only. */
  data(): Promise<TensorValues>
}

/** Computes a tensor's values for the step under way. */
export type ReadTensor = (tensor: Tensor) => Promise<TensorValues>

export function createTensor(builder: Builder, id: number, { shape, dtype }: TensorType): Tensor {
  return new Handle(builder, id, shape, dtype)
}

class Handle implements Tensor {
  readonly builder: Builder
  readonly id: number
  readonly shape: Tensor['shape']
  readonly dtype: Tensor['dtype']

  constructor(builder: Builder, id: number, shape: Tensor['shape'], dtype: Tensor['dtype']) {
    this.builder = builder
    this.id = id
    this.shape = shape
    this.dtype = dtype
  }

  item(): Promise<number> {
    return pending(this.#values().then(onlyOne), 'item')
  }

  data(): Promise<TensorValues> {
    return pending(this.#values(), 'data')
  }

  /** A tensor used as a number, as in `if (t > 0)`. */
  [Symbol.toPrimitive](): never {
    throw notAwaited('A tensor was used as if it were a number.', 'item')
  }

  #values(): Promise<TensorValues> {
    const { read } = this.builder
    if (read) return read(this)
    throw new UserError('The value of a tensor was asked for, but in a static graph tensors have no values.', {
      code: 'PROGRAM_READ',
      hint: 'Read values in trainForward of a dygraph_model.ts, and oarfish train --mode dygraph (docs/guide/dygraph.md)',
    })
  }
}

/** A promise that fails on every use but `await`: JavaScript would take it for NaN or undefined without a word. */
function pending<T>(promise: Promise<T>, method: 'item' | 'data'): Promise<T> {
  return new Proxy(promise, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member === 'function') return member.bind(target)
      if (key === Symbol.toStringTag) return member
      throw notAwaited(`The result of ${method}() was used without await.`, method)
    },
  })
}

function onlyOne(values: TensorValues): number {
  if (values.length === 1) return Number(values[0])
  throw new UserError(`item() reads tensors of one element; this one has ${values.length}.`, {
    code: 'PROGRAM_READ',
    hint: 'Take mean(t) or sum(t) first, or read them all: await t.data()',
  })
}

function notAwaited(message: string, method: 'item' | 'data'): UserError {
  return new UserError(message, { code: 'PROGRAM_READ', hint: `Write: await t.${method}()` })
}
