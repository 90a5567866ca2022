/** @file Loads a user's model file (.ts or .js) through jiti, with `oarfish` meaning the running package. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type LoadedConfig, validateHyperParameters } from '../config/index.ts'
import { blamed, importUserModule, shown, UserError } from '../util/index.ts'
import type { ModelModule, StaticModel } from './contract.ts'
import { type TracedModel, traceModel } from './trace.ts'
import { staticModelOf } from './v1.ts'

const CANDIDATES = ['static_model.ts', 'static_model.js', 'static_model.mjs', 'model.ts']

/** The model beside a config file, traced. Errors of the model's own code keep their stack. */
export async function loadModel(loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  const { file, create, values } = await loadModelClass(loaded)
  return blamed(file, 'failed', () => traceModel(create(values), strategy))
}

/** A user's model class and the hyper-parameters it is constructed with. */
export interface ModelClass<M = StaticModel> {
  readonly file: string
  readonly create: (values: unknown) => M
  /** Checked, with defaults. */
  readonly values: unknown
  readonly schema: ModelModule['hyperParameters']
}

export async function loadModelClass(loaded: LoadedConfig): Promise<ModelClass> {
  const file = loaded.config.model ?? modelFile(loaded.config.dir)
  const module = await blamed(file, 'could not be loaded', () => importUserModule<Partial<ModelModule>>(file))
  const { StaticModel, Model, hyperParameters: schema } = module
  if (StaticModel === undefined && typeof Model === 'function') {
    const values = schema ? validateHyperParameters(loaded, schema) : loaded.config.hyper_parameters
    return { file, schema, values, create: (own) => staticModelOf(Model, own, loaded) }
  }
  if (typeof StaticModel !== 'function') {
    throw new UserError(
      `does not export a class StaticModel; it exports ${Object.keys(module).join(', ') || 'nothing'}`,
      {
        code: 'MODEL_CONTRACT',
        where: { file: shown(file) },
        hint: 'export class StaticModel { createFeeds(feeds) {...} net(inputs) {...} createOptimizer() {...} }',
      },
    )
  }
  const values = schema ? validateHyperParameters(loaded, schema) : loaded.config.hyper_parameters
  return { file, schema, values, create: (own) => new (StaticModel as new (values: unknown) => StaticModel)(own) }
}

function modelFile(dir: string): string {
  const found = CANDIDATES.map((name) => join(dir, name)).find((file) => existsSync(file))
  if (found) return found
  throw new UserError(`no model beside the config: looked for ${CANDIDATES.join(', ')} in ${shown(dir)}`, {
    code: 'MODEL_MISSING',
    hint: 'put static_model.ts into the folder of config.yaml; models/rank/dnn is an example',
  })
}
