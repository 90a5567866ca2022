/** @file Initializers, regularizers and parameter attributes under fluid's names, with fluid's defaults. */
import type { Initializer } from '../program/index.ts'

/** `fluid.initializer.*`: each returns plain data. */
export const initializer = {
  Constant: ({ value = 0 }: { value?: number } = {}): Initializer => ({ kind: 'constant', value }),
  Uniform: ({ low = -1, high = 1 }: { low?: number; high?: number } = {}): Initializer => ({
    kind: 'uniform',
    low,
    high,
  }),
  Normal: ({ loc = 0, scale = 1 }: { loc?: number; scale?: number } = {}): Initializer => ({
    kind: 'normal',
    mean: loc,
    std: scale,
  }),
  TruncatedNormal: ({ loc = 0, scale = 1 }: { loc?: number; scale?: number } = {}): Initializer => ({
    kind: 'truncated_normal',
    mean: loc,
    std: scale,
  }),
  Xavier: ({ uniform = true }: { uniform?: boolean } = {}): Initializer => ({
    kind: uniform ? 'xavier_uniform' : 'xavier_normal',
  }),
  MSRA: ({ uniform = true }: { uniform?: boolean } = {}): Initializer => ({
    kind: uniform ? 'kaiming_uniform' : 'kaiming_normal',
  }),
} as const

/** `fluid.regularizer.*`. */
export const regularizer = {
  L2Decay: (coefficient = 0): Regularizer => ({ l2: coefficient }),
} as const

export interface Regularizer {
  readonly l2: number
}

export interface ParamAttrOptions {
  /** Layers with the same name share the weight. */
  readonly name?: string
  readonly initializer?: Initializer
  /** A factor on the optimizer's learning rate. @default 1 */
  readonly learningRate?: number
  readonly regularizer?: Regularizer
  /** @default true */
  readonly trainable?: boolean
}

/** Attributes of a weight; a string is its name. */
export type ParamAttr = ParamAttrOptions | string

export const ParamAttr = (options: ParamAttrOptions): ParamAttr => options

/** The attributes as the builder takes them, with what the layer says where the user says nothing. */
export function parameterOf(attr: ParamAttr | undefined, name: string, init: Initializer) {
  const own = typeof attr === 'string' ? { name: attr } : (attr ?? {})
  return {
    name: own.name ?? name,
    init: own.initializer ?? init,
    ...(own.learningRate !== undefined && { learningRate: own.learningRate }),
    ...(own.regularizer && { l2: own.regularizer.l2 }),
    ...(own.trainable !== undefined && { trainable: own.trainable }),
  }
}
