/** @file Loads the model beside a config as a static graph, whichever form its file has. */
import { type LoadedConfig, validateHyperParameters } from '../base/config/index.ts'
import { runUserCode } from '../base/util/index.ts'
import type { ModelModule, StaticModel } from './contract.ts'
import { definedModel, runnerSettings } from './defined.ts'
import { findModelFile, importModelFile, missingClass } from './forms.ts'
import { type TracedModel, traceModel } from './trace.ts'
import { staticModelOf } from './v1.ts'

/** The model beside a config file, traced. Errors of the model's own code keep their stack. */
export async function loadModel(loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  const { file, create, values } = await loadModelClass(loaded)
  return runUserCode(file, 'failed', () => traceModel(create(values), strategy))
}

/** A user's model and the hyper-parameters it is made with. */
export interface ModelClass<M = StaticModel> {
  readonly file: string
  readonly create: (values: unknown) => M
  /** Checked, with defaults. */
  readonly values: unknown
  readonly schema: ModelModule['hyperParameters']
  /** Where it declares what it reads. */
  readonly declares: 'inputs' | 'createFeeds' | 'inputData'
}

export async function loadModelClass(loaded: LoadedConfig): Promise<ModelClass> {
  const file = loaded.config.model ?? (await findModelFile(loaded, 'static'))
  const { definition, StaticModel, Model, hyperParameters: schema, exported } = await importModelFile(file)
  const values = hyperParametersOf(loaded, schema)
  const common = { file, schema, values }
  if (definition) {
    const settings = { ...runnerSettings(loaded), mode: 'static' } as const
    return { ...common, declares: 'inputs', create: (own) => definedModel(definition, own, settings) }
  }
  if (StaticModel) {
    const create = (own: unknown) => new (StaticModel as new (values: unknown) => StaticModel)(own)
    return { ...common, declares: 'createFeeds', create }
  }
  if (Model) return { ...common, declares: 'inputData', create: (own) => staticModelOf(Model, own, loaded) }
  throw missingClass(file, 'StaticModel', exported)
}

/** The config's hyper-parameters, checked and with defaults where the model declares them. */
export function hyperParametersOf(loaded: LoadedConfig, schema: ModelModule['hyperParameters']): unknown {
  return schema ? validateHyperParameters(loaded, schema) : loaded.config.hyper_parameters
}
