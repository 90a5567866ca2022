/** @file The configuration that a trainer_config.ts describes by its calls, while it does. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Slot } from '../../data/index.ts'
import { Builder, type Initializer, type Tensor } from '../../graph/program/index.ts'
import type { OptimizerSpec } from '../../weights/optim/index.ts'
import { configError, layerError } from './errors.ts'
import type { DataProvider } from './provider.ts'

/** How layers use a data layer, which says how it is read. */
export type DataUse = 'ids' | 'sequence' | 'dense' | 'label'

export interface DataLayer {
  readonly name: string
  /** How many ids there are, or how many numbers. */
  readonly size: number
  use?: DataUse
  /** Of numbers, once a layer has asked for them. */
  tensor?: Tensor
}

export interface DataSources {
  readonly trainList: string
  readonly testList: string | undefined
  readonly provider: DataProvider
  readonly args: unknown
}

/** The cost of each sample, or what a network for prediction computes. */
export interface NetworkOutput {
  readonly name: string
  readonly kind: 'cost' | 'value'
  readonly tensor: Tensor
}

export interface Settings {
  readonly batchSize: number
  readonly optimizer: OptimizerSpec
}

export class ConfigUnderWay {
  readonly builder = new Builder()
  /** What --config_args gives. */
  readonly args: Readonly<Record<string, string>>
  readonly data = new Map<string, DataLayer>()
  /** Of embedding layers, by name. */
  readonly tables = new Map<string, { readonly dim: number; readonly init: Initializer }>()
  /** Looked up already. */
  readonly rows = new Map<string, Tensor>()
  settings: Settings | undefined
  sources: DataSources | undefined
  outputs: readonly NetworkOutput[] = []
  readonly #counts = new Map<string, number>()

  constructor(args: Readonly<Record<string, string>> = {}) {
    this.args = args
  }

  /** The given name, or the original's: `__fc_layer_0__`. */
  layerName(kind: string, given?: string): string {
    if (given !== undefined) return given
    const count = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, count + 1)
    return `__${kind}_${count}__`
  }

  /** Data is read in one way: as ids, as a sequence of them, as numbers or as a class. */
  use(layer: DataLayer, use: DataUse): void {
    if (layer.use !== undefined && layer.use !== use)
      throw layerError(
        `data layer "${layer.name}" is used as ${USES[layer.use]} and also as ${USES[use]}.`,
        'Declare it twice under two names, and yield both.',
      )
    layer.use = use
  }

  /** Inputs in the order in which their layers were declared; those that no layer uses are not read. */
  get slots(): readonly Slot[] {
    return [...this.data.values()].flatMap(({ name, size, use }): Slot[] => {
      if (use === undefined) return []
      if (use === 'ids' || use === 'sequence') return [{ kind: 'sparse', name }]
      return use === 'label'
        ? [{ kind: 'dense', name, width: 1, dtype: 'int64' }]
        : [{ kind: 'dense', name, width: size, dtype: 'float32' }]
    })
  }
}

export const USES: Readonly<Record<DataUse, string>> = {
  ids: 'an id',
  sequence: 'a sequence of ids',
  dense: 'numbers',
  label: 'a class',
}

const scope = new AsyncLocalStorage<ConfigUnderWay>()

/** Runs what describes `config`: the calls in it, also later ones of the same asynchronous flow, go there. */
export function describing<T>(config: ConfigUnderWay, run: () => T): T {
  return scope.run(config, run)
}

/** The configuration that `call` belongs to. */
export function underWay(call: string): ConfigUnderWay {
  const config = scope.getStore()
  if (config) return config
  throw configError(
    `${call}() was called outside a trainer_config.ts.`,
    'Run the file with oarfish trainer --config=trainer_config.ts; it cannot be run by itself.',
  )
}
