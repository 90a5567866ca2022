/** @file `defineModel`: a whole model as one object, every type inferred from it. What is wrong with a field is said where it stands. */
import { z } from 'zod'
import type { SYNC_MODES } from '../base/config/index.ts'
import { userPlace, type Where } from '../base/util/index.ts'
import type { Tensor } from '../graph/program/index.ts'
import type { Feeds, ModelOptimizer, ModelVectors } from './contract.ts'
import { checkFields, isSchema } from './fields.ts'
import type { Metric, MetricReport } from './metrics.ts'

/** Names, types and defaults of `hyper_parameters`: the keys one by one, or a whole schema where they depend on each other. */
export type HyperParameters = z.ZodType | z.ZodRawShape

/** What a net gets for them. */
export type HyperValues<H extends HyperParameters> = H extends z.ZodType
  ? z.output<H>
  : keyof H extends never
    ? NoKeys // which zod has as any key, without a value
    : H extends z.ZodRawShape
      ? z.output<z.ZodObject<H, z.core.$strict>>
      : never

// biome-ignore lint/complexity/noBannedTypes: no keys at all, so that asking for one is an error
type NoKeys = {}

/** What a net may depend on beside its hyper-parameters. */
export interface RunSettings extends RunnerSettings {
  /** True for the graph that learns; false for evaluation, `oarfish infer` and exports. */
  readonly training: boolean
  /** A graph built once, or one a batch. */
  readonly mode: 'static' | 'dygraph'
}

/** Those that are the same for every graph of a run. */
export interface RunnerSettings {
  /** Where the graph is computed: `gpu` only where there is one, whatever `runner.use_gpu` asks for. */
  readonly device: 'cpu' | 'gpu'
  /** `runner.sync_mode`; it has an effect in a job with servers. */
  readonly sync_mode: (typeof SYNC_MODES)[number]
}

/** What a net of defineModel returns. */
export interface NetResult {
  /** A scalar: the mean over the batch of what is minimized. */
  readonly loss: Tensor
  /** What inference returns, by name; the first is the score. */
  readonly outputs?: Readonly<Record<string, Tensor>> | undefined
  /** Of a model for recall: what `oarfish export --vectors` and `oarfish index` write. */
  readonly vectors?: ModelVectors | undefined
}

/** The fields of a model. Types flow from each to those after it: keep this order. */
export interface ModelFields<H extends HyperParameters, Inputs extends object, Result extends NetResult> {
  /** @default none */
  readonly hyperParameters?: H | undefined
  /** What a sample has. The order of calls is the order MultiSlot text must have; slot text goes by name. */
  readonly inputs: (feeds: Feeds, hyper: HyperValues<H>, run: RunSettings) => Inputs
  /** Loss and outputs of a batch. Pure: the same arguments give the same graph. What else it returns is for `metrics`. */
  readonly net: (inputs: Inputs, hyper: HyperValues<H>, run: RunSettings) => Result
  /** What is measured, of what the net returned. @default the loss alone */
  readonly metrics?:
    | ((
        result: Result,
        inputs: Inputs,
        hyper: HyperValues<H>,
        run: RunSettings,
      ) => Readonly<Record<string, Metric | MetricReport>>)
    | undefined
  readonly optimizer: ModelOptimizer | ((hyper: HyperValues<H>, run: RunSettings) => ModelOptimizer)
}

/** What `defineModel` returns and a model file exports by default. */
export interface ModelDefinition<H extends HyperParameters, Inputs extends object, Result extends NetResult>
  extends Omit<ModelFields<H, Inputs, Result>, 'hyperParameters' | 'optimizer'> {
  readonly kind: 'model definition'
  readonly hyperParameters: z.ZodType<HyperValues<H>>
  readonly optimizer: (hyper: HyperValues<H>, run: RunSettings) => ModelOptimizer
  /** Where it was defined. */
  readonly place: Where | undefined
}

/**
 * A model. One `net` gives the static graph, the dynamic one, evaluation and exports.
 *
 * @example
 * export default defineModel({
 *   hyperParameters: { learning_rate: z.number().positive().default(0.001) },
 *   inputs: ({ label, sparse }) => ({ click: label('click'), slots: [sparse('1'), sparse('2')] }),
 *   net({ click, slots }) {
 *     const logit = nn.mlp(nn.embedding(slots, { name: 'rows', dim: 8 }), { name: 'fc', sizes: [32, 1] })
 *     return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
 *   },
 *   metrics: ({ outputs }, { click }) => ({ auc: metric.auc(outputs.predict, click) }),
 *   optimizer: ({ learning_rate }) => optimizer.adam({ learningRate: learning_rate, lazy: true }),
 * })
 */
export function defineModel<
  H extends HyperParameters = NoKeys,
  Inputs extends object = object,
  Result extends NetResult = NetResult,
>(fields: ModelFields<H, Inputs, Result>): ModelDefinition<H, Inputs, Result> {
  const place = userPlace(new Error().stack)
  checkFields(fields, place)
  const { hyperParameters = {}, optimizer } = fields
  const schema = isSchema(hyperParameters) ? hyperParameters : z.strictObject(hyperParameters as z.ZodRawShape)
  return Object.freeze({
    ...fields,
    kind: 'model definition' as const,
    hyperParameters: schema as z.ZodType<HyperValues<H>>,
    optimizer: typeof optimizer === 'function' ? optimizer : () => optimizer,
    place,
  })
}
