/** @file The two ways to train a model: as a graph that is built once, or built anew at every step. */
import type { LoadedConfig } from '../base/config/index.ts'
import { checkBest } from './best.ts'
import { loadDygraphModel } from './dygraph.ts'
import type { GraphMode } from './forms.ts'
import { loadModel } from './load.ts'
import { withSlices } from './slices.ts'
import type { TracedModel } from './trace.ts'

export const GRAPH_MODES = ['static', 'dygraph'] as const satisfies readonly GraphMode[]
export type { GraphMode }

/** The model beside a config file: of the file for this mode, or of model.ts, which serves both. */
export async function loadModelAs(mode: GraphMode, loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  const model = await LOADERS[mode](loaded, strategy)
  checkBest(model, loaded)
  return withSlices(model, loaded)
}

const LOADERS: { readonly [K in GraphMode]: (loaded: LoadedConfig, strategy?: unknown) => Promise<TracedModel> } = {
  static: loadModel,
  dygraph: loadDygraphModel,
}
