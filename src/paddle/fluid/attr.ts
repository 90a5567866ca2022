/** @file Initializers, regularizers and parameter attributes under fluid's names, with fluid's defaults. */
import type { Initializer } from '../../graph/program/index.ts'

/** `fluid.initializer.*`: each returns plain data. */
export const initializer = {
  Constant: ({ value = 0 }: { value?: number } = {}): Initializer => ({ kind: 'constant', value }),
  Uniform: ({ low = -1, high = 1 }: Bounds = {}): Initializer => ({ kind: 'uniform', low, high }),
  Normal: ({ loc: mean = 0, scale: std = 1 }: Spread = {}): Initializer => ({ kind: 'normal', mean, std }),
  TruncatedNormal: ({ loc: mean = 0, scale: std = 1 }: Spread = {}): Initializer => ({
    kind: 'truncated_normal',
    mean,
    std,
  }),
  Xavier: ({ uniform = true }: Shape = {}): Initializer => ({ kind: uniform ? 'xavier_uniform' : 'xavier_normal' }),
  MSRA: ({ uniform = true }: Shape = {}): Initializer => ({ kind: uniform ? 'kaiming_uniform' : 'kaiming_normal' }),
} as const

type Bounds = { readonly low?: number; readonly high?: number }
type Spread = { readonly loc?: number; readonly scale?: number }
type Shape = { readonly uniform?: boolean }

/** `fluid.regularizer.*`. */
export const regularizer = {
  L2Decay: (coefficient = 0): Regularizer => ({ l2: coefficient }),
} as const

/** A penalty on weights; made by `regularizer`. */
export interface Regularizer {
  readonly l2: number
}

/** Options of ParamAttr. */
export interface ParamAttrOptions {
  /** Layers with the same name share the weight. */
  readonly name?: string | undefined
  readonly initializer?: Initializer | undefined
  /** A factor on the optimizer's learning rate. @default 1 */
  readonly learningRate?: number | undefined
  readonly regularizer?: Regularizer | undefined
  /** @default true */
  readonly trainable?: boolean | undefined
}

/** Attributes of a weight; a string is its name. */
export type ParamAttr = ParamAttrOptions | string

export const ParamAttr = (options: ParamAttrOptions): ParamAttr => options

/** The attributes as the builder takes them, with what the layer says where the user says nothing. */
export function parameterOf(attr: ParamAttr | undefined, name: string, init: Initializer) {
  const own: ParamAttrOptions = typeof attr === 'string' ? { name: attr } : (attr ?? {})
  const { learningRate, regularizer, trainable } = own
  return { name: own.name ?? name, init: own.initializer ?? init, learningRate, l2: regularizer?.l2, trainable }
}
