/** @file The forms that a model file may have: defineModel's default export, or classes. Finds the file, imports it, and says which it is. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type LoadedConfig, MODEL_FILES } from '../base/config/index.ts'
import { importUserModule, runUserCode, shown, UserError } from '../base/util/index.ts'
import type { DygraphModule, ModelModule } from './contract.ts'
import { type AnyDefinition, isDefinition } from './defined.ts'
import { EXAMPLE } from './fields.ts'
import { placeOfText } from './place.ts'

export type GraphMode = keyof typeof MODEL_FILES

/** A model file, whichever form it has. */
export interface ModelFile {
  readonly definition: AnyDefinition | undefined
  readonly StaticModel: ModelModule['StaticModel'] | undefined
  readonly Model: ModelModule['Model'] | undefined
  readonly DygraphModel: DygraphModule['DygraphModel'] | undefined
  readonly hyperParameters: ModelModule['hyperParameters'] | undefined
  /** The names of everything. */
  readonly exported: readonly string[]
}

const CLASSES = ['StaticModel', 'DygraphModel', 'Model'] as const

/** The file of a model, in the folder of its config: that of the mode alone, or else the one for both. */
export async function findModelFile({ config: { dir } }: LoadedConfig, mode: GraphMode): Promise<string> {
  const inFolder = (names: readonly string[]) => names.map((name) => join(dir, name)).find((file) => existsSync(file))
  const found = inFolder(MODEL_FILES[mode])
  if (found === undefined) throw noModel(dir, mode)
  const files = [inFolder(MODEL_FILES.static)!, inFolder(MODEL_FILES.dygraph)!]
  const one = inFolder(MODEL_FILES.static.filter((name) => MODEL_FILES.dygraph.includes(name)))
  if (one && !files.includes(one) && (await isModel(one))) throw neverRead(one, files)
  return found
}

/** A file of that name may also be a helper of the others, or a model of version 1.x. */
async function isModel(file: string): Promise<boolean> {
  const module = await importUserModule<{ readonly default?: unknown }>(file).catch(() => undefined)
  return isDefinition(module?.default)
}

export async function importModelFile(file: string): Promise<ModelFile> {
  type Module = Partial<ModelModule & DygraphModule & { readonly default: unknown }>
  const module = await runUserCode(file, 'could not be loaded', () => importUserModule<Module>(file))
  const definition = isDefinition(module.default) ? module.default : undefined
  const classes = CLASSES.filter((name) => typeof module[name] === 'function')
  if (definition && classes.length > 0) throw bothForms(file, classes[0]!)
  const exported = Object.keys(module).filter((name) => name !== '__esModule')
  if (!definition && classes.length === 0) throw noForm(file, exported)
  const { StaticModel, DygraphModel, Model } = module
  const hyperParameters = definition ? definition.hyperParameters : module.hyperParameters
  return { definition, StaticModel, DygraphModel, Model, hyperParameters, exported }
}

function noModel(dir: string, mode: GraphMode): UserError {
  const what = mode === 'static' ? 'model' : 'dynamic model'
  const message = `no ${what} beside the config: looked for ${MODEL_FILES[mode].join(', ')} in ${shown(dir)}`
  // A folder of PaddleRec, as it was checked out.
  const hasPython = existsSync(join(dir, 'net.py'))
  const hint = hasPython ? `draft model.ts from its net.py:  oarfish port ${shown(dir)}` : NO_MODEL[mode]
  return new UserError(message, { code: 'MODEL_MISSING', hint })
}

const NO_MODEL = {
  static: 'put model.ts into the folder of config.yaml; models/rank/dnn is an example',
  dygraph:
    'put model.ts, which serves both modes, or dygraph_model.ts into the folder of config.yaml, or train with --mode static',
} as const

function neverRead(file: string, others: readonly string[]): UserError {
  const names = others.map(shown).join(' and ')
  return new UserError(`nothing reads this model: ${names} beside it serve both modes`, {
    code: 'MODEL_FORMS',
    where: placeOfText(file, /\bdefineModel\(/),
    hint: `Delete ${names}, or this file.`,
  })
}

function bothForms(file: string, name: string): UserError {
  return new UserError(`this file exports a class ${name} beside defineModel's default export: a model has one form`, {
    code: 'MODEL_FORMS',
    where: placeOfText(file, new RegExp(`\\bexport\\b.*\\b${name}\\b`)),
    hint: `Delete one of them; a class ${name} that is meant stands in a file of its own (docs/guide/writing-models.md).`,
  })
}

function noForm(file: string, names: readonly string[]): UserError {
  if (/dygraph_model\.\w+$/.test(file)) return missingClass(file, 'DygraphModel', names)
  if (/static_model\.\w+$/.test(file)) return missingClass(file, 'StaticModel', names)
  const isOther = names.includes('default')
  const place = placeOfText(file, isOther ? /\bexport default\b|\bas default\b/ : /\bdefineModel\(/)
  const message = isOther ? 'the default export is not what defineModel returns' : 'there is no default export'
  return new UserError(`${message}; this file exports ${names.join(', ') || 'nothing'}`, {
    code: 'MODEL_CONTRACT',
    where: { ...place, line: place.line ?? 1 },
    hint: EXAMPLE,
  })
}

const CONTRACTS = {
  StaticModel: 'export class StaticModel { createFeeds(feeds) {...} net(inputs) {...} createOptimizer() {...} }',
  DygraphModel:
    'export class DygraphModel { createFeeds(feeds) {...} createModel() {...} createOptimizer() {...} createMetrics() {...} trainForward(model, inputs) {...} inferForward(model, inputs) {...} }',
} as const

/** A file that has no class for the mode it is asked for. */
export function missingClass(file: string, name: keyof typeof CONTRACTS, exported: readonly string[]): UserError {
  const message = `does not export a class ${name}; it exports ${exported.join(', ') || 'nothing'}`
  return new UserError(message, { code: 'MODEL_CONTRACT', where: { file: shown(file) }, hint: CONTRACTS[name] })
}
