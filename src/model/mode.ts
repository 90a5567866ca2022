/** @file The two ways to train a model: as a graph that is built once, or built anew at every step. */
import type { LoadedConfig } from '../base/config/index.ts'
import { loadDygraphModel } from './dygraph.ts'
import type { GraphMode } from './forms.ts'
import { loadModel } from './load.ts'
import type { TracedModel } from './trace.ts'

export const GRAPH_MODES = ['static', 'dygraph'] as const satisfies readonly GraphMode[]
export type { GraphMode }

/** The model beside a config file: of the file for this mode, or of model.ts, which serves both. */
export function loadModelAs(mode: GraphMode, loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  return LOADERS[mode](loaded, strategy)
}

const LOADERS: { readonly [K in GraphMode]: (loaded: LoadedConfig, strategy?: unknown) => Promise<TracedModel> } = {
  static: loadModel,
  dygraph: loadDygraphModel,
}
