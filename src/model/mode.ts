/** @file The two ways to train a model: as a graph that is built once, or built anew at every step. */
import type { LoadedConfig } from '../config/index.ts'
import { loadDygraphModel } from './dygraph.ts'
import { loadModel } from './load.ts'
import type { TracedModel } from './trace.ts'

export const GRAPH_MODES = ['static', 'dygraph'] as const
export type GraphMode = (typeof GRAPH_MODES)[number]

/** The model beside a config file: of static_model.ts or of dygraph_model.ts. */
export function loadModelAs(mode: GraphMode, loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  return LOADERS[mode](loaded, strategy)
}

const LOADERS: { readonly [K in GraphMode]: (loaded: LoadedConfig, strategy?: unknown) => Promise<TracedModel> } = {
  static: loadModel,
  dygraph: loadDygraphModel,
}
