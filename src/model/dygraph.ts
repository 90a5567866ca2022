/** @file Dynamic models: loads dygraph_model.ts, finds out what it owns, and traces its steps. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type LoadedConfig, validateHyperParameters } from '../config/index.ts'
import type { Slot } from '../data/index.ts'
import { openTrace, type Traced, type TraceOptions } from '../lazy/index.ts'
import type { MetricSpec } from '../metric/index.ts'
import type { Layer } from '../nn/index.ts'
import { Builder, type Program } from '../program/index.ts'
import { blamed, importUserModule, shown, UserError } from '../util/index.ts'
import type { DygraphModel, DygraphModule, DygraphSource } from './contract.ts'
import type { ModelClass } from './load.ts'
import { checkLoss, feedsOf, metricFetches, metricSpec, splitOptimizer, type TracedModel } from './trace.ts'

const FILES = ['dygraph_model.ts', 'dygraph_model.js', 'dygraph_model.mjs']

/** The dynamic model beside a config file. Its programs hold what the model owns and no ops. */
export async function loadDygraphModel(loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  const { file, values } = await loadDygraphClass(loaded)
  const dygraph: DygraphSource = { file, values }
  const { slots, metrics, owned, optimizers } = await openDygraph(dygraph, strategy)
  return { slots, metrics, train: owned, infer: owned, outputs: [], ...optimizers, dygraph }
}

export async function loadDygraphClass(loaded: LoadedConfig): Promise<ModelClass<DygraphModel>> {
  const file = dygraphFile(loaded.config.dir)
  const { DygraphModel, hyperParameters: schema } = await importModel(file)
  const values = schema ? validateHyperParameters(loaded, schema) : loaded.config.hyper_parameters
  return { file, schema, values, create: (own) => new (DygraphModel as new (values: unknown) => DygraphModel)(own) }
}

export interface Dygraph extends Pick<TracedModel, 'slots' | 'metrics'> {
  /** Parameters, state and tables. */
  readonly owned: Program
  readonly optimizers: Pick<TracedModel, 'optimizer' | 'tableOptimizers' | 'distributed'>
  /** Runs trainForward or inferForward on one batch; values it reads are computed by `evaluate`. */
  trace(options: Pick<TraceOptions, 'phase' | 'evaluate'>): Promise<Traced>
}

export async function openDygraph({ file, values }: DygraphSource, strategy?: unknown): Promise<Dygraph> {
  const { DygraphModel } = await importModel(file)
  return blamed(file, 'failed', () => {
    const model = new (DygraphModel as new (values: unknown) => DygraphModel)(values)
    const layer = model.createModel()
    const owned = ownedBy(layer)
    const slots: Slot[] = []
    model.createFeeds(feedsOf(new Builder(), slots), false)
    const metrics = Object.entries(model.createMetrics()).map(([name, kind]) => metricSpec(name, kind))
    return {
      ...{ slots, metrics, owned },
      optimizers: splitOptimizer(model.createOptimizer(layer, strategy)),
      trace: ({ phase, evaluate }) =>
        blamed(file, 'failed', () => traceStep({ model, layer, owned, metrics }, { phase, evaluate })),
    }
  })
}

interface Parts {
  readonly model: DygraphModel
  readonly layer: Layer
  readonly owned: Program
  readonly metrics: readonly MetricSpec[]
}

async function traceStep(
  { model, layer, owned, metrics }: Parts,
  { phase, evaluate }: Pick<TraceOptions, 'phase' | 'evaluate'>,
): Promise<Traced> {
  const isInfer = phase === 'inference'
  const { builder, finish } = openTrace({
    ...{ phase, tables: owned.tables },
    evaluate: (prefix) => evaluate(checked(prefix, owned)),
  })
  const inputs = model.createFeeds(feedsOf(builder, []), isInfer)
  if (isInfer) layer.eval()
  else layer.train()
  const output = await (isInfer ? model.inferForward(layer, inputs) : model.trainForward(layer, inputs))
  checkLoss(output.loss, isInfer ? 'inferForward()' : 'trainForward()')
  const { fetches, specs } = metricFetches(output)
  for (const { name, kind } of specs) {
    if (!metrics.some((declared) => declared.name === name && declared.kind === kind)) throw unknownMetric(name, kind)
  }
  return checked(finish({ loss: output.loss, ...fetches }), owned)
}

/** Weights live outside the graph and are laid out before the first step, so that a step cannot bring new ones. */
function checked({ key, build }: Traced, owned: Program): Traced {
  return {
    key,
    build() {
      const program = build()
      const names = new Set([...owned.parameters, ...owned.state, ...owned.tables].map(({ name }) => name))
      const tables = program.rows.map(({ table }) => table)
      const used = [...[...program.parameters, ...program.state].map(({ name }) => name), ...tables]
      const stranger = used.find((name) => !names.has(name))
      if (stranger === undefined) return program
      throw new UserError(`A step uses the weight "${stranger}", which no layer of createModel() owns.`, {
        code: 'MODEL_LAYER',
        hint: "in a dynamic graph weights belong to layers: this.addSublayer('fc', new nn.Linear({ in, out })) instead of nn.linear(x, ...)",
      })
    },
  }
}

function ownedBy(layer: Layer): Program {
  const builder = new Builder()
  for (const variable of Object.values(layer.stateDict())) variable.on(builder)
  for (const table of layer.tables()) builder.table(table)
  return builder.build({})
}

async function importModel(file: string): Promise<DygraphModule> {
  const module = await blamed(file, 'could not be loaded', () => importUserModule<Partial<DygraphModule>>(file))
  if (typeof module.DygraphModel === 'function') return module as DygraphModule
  throw new UserError(
    `does not export a class DygraphModel; it exports ${Object.keys(module).join(', ') || 'nothing'}`,
    {
      code: 'MODEL_CONTRACT',
      where: { file: shown(file) },
      hint: 'export class DygraphModel { createFeeds(feeds) {...} createModel() {...} createOptimizer() {...} createMetrics() {...} trainForward(model, inputs) {...} inferForward(model, inputs) {...} }',
    },
  )
}

function dygraphFile(dir: string): string {
  const found = FILES.map((name) => join(dir, name)).find((file) => existsSync(file))
  if (found) return found
  throw new UserError(`no dynamic model beside the config: looked for ${FILES.join(', ')} in ${shown(dir)}`, {
    code: 'MODEL_MISSING',
    hint: 'put dygraph_model.ts into the folder of config.yaml (models/rank/dnn has one), or train with --mode static',
  })
}

function unknownMetric(name: string, kind: string): UserError {
  return new UserError(`A step returned the metric "${name}", which createMetrics() does not declare.`, {
    code: 'MODEL_CONTRACT',
    hint: `createMetrics() { return { ${name}: '${kind}' } }`,
  })
}
