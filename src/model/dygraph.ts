/** @file Dynamic models, of dygraph_model.ts or of defineModel: finds out what one owns, and traces its steps. */
import type { LoadedConfig } from '../base/config/index.ts'
import { runUserCode, UserError } from '../base/util/index.ts'
import { openTrace, type Traced, type TraceOptions } from '../graph/lazy/index.ts'
import type { Layer } from '../graph/nn/index.ts'
import { Builder, type Program } from '../graph/program/index.ts'
import type { MetricSpec } from '../weights/metric/index.ts'
import type { DygraphModel, DygraphModule, DygraphSource, Feeds, ModelOptimizer, NetOutput } from './contract.ts'
import { type AnyDefinition, definedModel, runnerSettings } from './defined.ts'
import { findModelFile, importModelFile, type ModelFile, missingClass } from './forms.ts'
import { hyperParametersOf, type ModelClass } from './load.ts'
import { weighedLoss } from './sample-weight.ts'
import {
  checkLoss,
  declaredSlots,
  feedsOf,
  metricFetches,
  metricSpec,
  splitOptimizer,
  type TracedModel,
  traceNet,
} from './trace.ts'

/** The dynamic model beside a config file. Its programs hold what the model owns and no ops. */
export async function loadDygraphModel(loaded: LoadedConfig, strategy?: unknown): Promise<TracedModel> {
  const { file, values } = await loadDygraphClass(loaded)
  const dygraph: DygraphSource = { file, values, runner: runnerSettings(loaded) }
  const { slots, metrics, owned, optimizers } = await openDygraph(dygraph, strategy)
  return { slots, metrics, train: owned, infer: owned, outputs: [], ...optimizers, dygraph }
}

/** Its declarations, made with given hyper-parameters. */
export async function loadDygraphClass(loaded: LoadedConfig): Promise<ModelClass<Pick<DynamicModel, 'createFeeds'>>> {
  const file = await findModelFile(loaded, 'dygraph')
  const { definition, DygraphModel, hyperParameters: schema, exported } = await importModelFile(file)
  const values = hyperParametersOf(loaded, schema)
  const common = { file, schema, values }
  if (definition) {
    const settings = { ...runnerSettings(loaded), mode: 'dygraph' } as const
    return { ...common, declares: 'inputs', create: (own) => definedModel(definition, own, settings) }
  }
  if (DygraphModel) return { ...common, declares: 'createFeeds', create: (own) => construct(DygraphModel, own) }
  throw missingClass(file, 'DygraphModel', exported)
}

export interface Dygraph extends Pick<TracedModel, 'slots' | 'metrics'> {
  /** Parameters, state and tables. */
  readonly owned: Program
  readonly optimizers: Pick<TracedModel, 'optimizer' | 'tableOptimizers' | 'distributed'>
  /** Runs the net on one batch; values it reads are computed by `evaluate`. */
  trace(options: Pick<TraceOptions, 'phase' | 'evaluate'>): Promise<Traced>
}

export async function openDygraph(source: DygraphSource, strategy?: unknown): Promise<Dygraph> {
  const { file } = source
  const module = await importModelFile(file)
  return runUserCode(file, 'failed', () => {
    const model = dynamicModel(module, source)
    const { owned, metrics } = model
    return {
      slots: declaredSlots(model),
      metrics,
      owned,
      optimizers: splitOptimizer(model.createOptimizer(strategy)),
      trace: ({ phase, evaluate }) => runUserCode(file, 'failed', () => traceStep(model, { phase, evaluate })),
    }
  })
}

/** What both forms of a dynamic model come down to. */
interface DynamicModel {
  /** Parameters, state and tables: they are laid out before the first step. */
  readonly owned: Program
  /** What a step may measure. */
  readonly metrics: readonly MetricSpec[]
  readonly words: Words
  createFeeds(feeds: Feeds, isInfer: boolean): unknown
  createOptimizer(strategy?: unknown): ModelOptimizer
  run(inputs: unknown, isInfer: boolean): NetOutput | Promise<NetOutput>
}

/** How messages speak of it. */
interface Words {
  /** What returns the loss. */
  readonly forward: (isInfer: boolean) => string
  /** A weight that is not owned, and what to do about it. */
  readonly stranger: readonly [what: string, hint: string]
  /** A metric that is not known, and what to do about it. */
  readonly metric: (name: string, kind: string) => readonly [what: string, hint: string]
}

function dynamicModel({ definition, DygraphModel, exported }: ModelFile, source: DygraphSource): DynamicModel {
  if (definition) return ofDefinition(definition, source)
  if (DygraphModel) return ofClass(construct(DygraphModel, source.values))
  throw missingClass(source.file, 'DygraphModel', exported)
}

const construct = (Model: DygraphModule['DygraphModel'], values: unknown) =>
  new (Model as new (values: unknown) => DygraphModel)(values)

function ofClass(model: DygraphModel): DynamicModel {
  const layer = model.createModel()
  return {
    owned: ownedBy(layer),
    metrics: Object.entries(model.createMetrics()).map(([name, kind]) => metricSpec(name, kind)),
    words: WORDS_OF_CLASS,
    createFeeds: (feeds, isInfer) => model.createFeeds(feeds, isInfer),
    createOptimizer: (strategy) => model.createOptimizer(layer, strategy),
    run(inputs, isInfer) {
      if (isInfer) layer.eval()
      else layer.train()
      return isInfer ? model.inferForward(layer, inputs) : model.trainForward(layer, inputs)
    },
  }
}

const WORDS_OF_CLASS: Words = {
  forward: (isInfer) => (isInfer ? 'inferForward()' : 'trainForward()'),
  stranger: [
    'no layer of createModel() owns',
    "in a dynamic graph weights belong to layers: this.addSublayer('fc', new nn.Linear({ in, out })) instead of nn.linear(x, ...)",
  ],
  metric: (name, kind) => ['createMetrics() does not declare', `createMetrics() { return { ${name}: '${kind}' } }`],
}

const WORDS_OF_DEFINITION: Words = {
  forward: () => 'net()',
  stranger: ['the net did not use before', 'a net uses the same weights at every step, whatever else it depends on'],
  metric: () => ['the evaluation does not have', 'return the same metrics whether `training` or not'],
}

/** It owns what its net uses, which is found out by building both graphs once. */
function ofDefinition(definition: AnyDefinition, { values, runner }: DygraphSource): DynamicModel {
  const model = definedModel(definition, values, { ...runner, mode: 'dygraph' })
  const [train, infer] = [traceNet(model, false), traceNet(model, true)]
  return {
    owned: usedBy([train.program, infer.program]),
    metrics: infer.metrics,
    words: WORDS_OF_DEFINITION,
    createFeeds: (feeds, isInfer) => model.createFeeds(feeds, isInfer),
    createOptimizer: () => model.createOptimizer(),
    run: (inputs, isInfer) => model.net(inputs as object, isInfer),
  }
}

async function traceStep(
  model: DynamicModel,
  { phase, evaluate }: Pick<TraceOptions, 'phase' | 'evaluate'>,
): Promise<Traced> {
  const isInfer = phase === 'inference'
  const { builder, finish } = openTrace({
    phase,
    tables: model.owned.tables,
    evaluate: (prefix) => evaluate(checked(prefix, model)),
  })
  const inputs = model.createFeeds(feedsOf(builder, []), isInfer)
  const output = await model.run(inputs, isInfer)
  const loss = weighedLoss(output.loss)
  checkLoss(loss, model.words.forward(isInfer))
  const { fetches, specs } = metricFetches(output)
  for (const { name, kind } of specs) {
    if (!model.metrics.some((declared) => declared.name === name && declared.kind === kind))
      throw unknownMetric(name, model.words.metric(name, kind))
  }
  return checked(finish({ loss, ...fetches }), model)
}

/** Weights live outside the graph and are laid out before the first step, so that a step cannot bring new ones. */
function checked({ key, build }: Traced, { owned, words }: DynamicModel): Traced {
  return {
    key,
    build() {
      const program = build()
      const names = new Set([...owned.parameters, ...owned.state, ...owned.tables].map(({ name }) => name))
      const tables = program.rows.map(({ table }) => table)
      const used = [...[...program.parameters, ...program.state].map(({ name }) => name), ...tables]
      const stranger = used.find((name) => !names.has(name))
      if (stranger === undefined) return program
      const [what, hint] = words.stranger
      throw new UserError(`A step uses the weight "${stranger}", which ${what}.`, { code: 'MODEL_LAYER', hint })
    },
  }
}

function ownedBy(layer: Layer): Program {
  const builder = new Builder()
  for (const variable of Object.values(layer.stateDict())) variable.on(builder)
  for (const table of layer.tables()) builder.table(table)
  return builder.build({})
}

/** All of these programs use, as a program without ops. */
function usedBy(programs: readonly Program[]): Program {
  const builder = new Builder()
  const once = <T extends { readonly name: string }>(items: readonly T[]) =>
    new Map(items.map((item) => [item.name, item])).values()
  for (const { value: _, dtype: __, ...spec } of once(programs.flatMap(({ parameters }) => parameters)))
    builder.parameter(spec)
  for (const { value: _, dtype: __, next: ___, ...spec } of once(programs.flatMap(({ state }) => state)))
    builder.state(spec)
  for (const table of programs.flatMap(({ tables }) => tables)) builder.table(table)
  return builder.build({})
}

function unknownMetric(name: string, [what, hint]: ReturnType<Words['metric']>): UserError {
  return new UserError(`A step returned the metric "${name}", which ${what}.`, { code: 'MODEL_CONTRACT', hint })
}
