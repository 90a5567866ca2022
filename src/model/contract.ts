/** @file What a model's classes are: the contract between a user's static_model.ts or dygraph_model.ts and the trainer. define.ts has the other form. */
import type { z } from 'zod'
import type { Layer, SparseSlot } from '../graph/nn/index.ts'
import type { Tensor } from '../graph/program/index.ts'
import type { OptimizerSpec } from '../weights/optim/index.ts'
import type { RunnerSettings } from './define.ts'
import type { DenseFeature, FeatureFunctions, SparseFeature } from './features.ts'
import type { Metric, MetricReport } from './metrics.ts'

/**
 * Declares a model's inputs. The order of calls is the order MultiSlot text must have; slot text goes by name.
 *
 * @example createFeeds({ label, sparse, dense }) { return { click: label('click'), ids: sparse('1'), x: dense('dense_feature', 13) } }
 */
export interface Feeds extends FeatureFunctions {
  /** An int64 label per sample, [B, 1]. */
  label(name: string, options?: InputOptions): Tensor
  /** Feature signs, any number per sample: for nn.embedding. With a feature, made of raw values. */
  sparse(name: string, options?: InputOptions | SparseFeature): SparseSlot
  /** Every combination of the signs of sparse inputs, as a number below `hash`: `cross('user', 'item', { hash: 1e6 })`. */
  cross(...of: readonly [string, string, ...string[], CrossOptions]): SparseSlot
  /** `width` values per sample, [B, width]. float32 unless said otherwise. */
  dense(name: string, width: number, options?: 'float32' | 'int64' | DenseOptions | DenseFeature): Tensor
  /** How much each sample counts, [B, 1]: in the loss (the mean of weight times cost) and in the metrics. A sample without it weighs 0. */
  sampleWeight(name: string, options?: InputOptions): Tensor
}

/** Options of Feeds.cross. */
export interface CrossOptions {
  /** How many numbers there are. */
  readonly hash: number
  /** @default the inputs' names with _x_ between them */
  readonly name?: string | undefined
}

/** Options of every input. */
export interface InputOptions {
  /** `false`: the data need not have it; samples without it have the sign 0, or zeros. @default true: data in which no sample has it is refused */
  readonly required?: boolean | undefined
}

/** Options of Feeds.dense. */
export interface DenseOptions extends InputOptions {
  readonly dtype?: 'float32' | 'int64' | undefined
  /** Other names that the slot may go by in text and in a config's `dense_slots`. */
  readonly aliases?: readonly string[] | undefined
}

/** What net() returns. */
export interface NetOutput {
  /** A scalar: the mean over the batch of what is minimized. */
  readonly loss: Tensor
  readonly metrics?: Readonly<Record<string, Metric | MetricReport>> | undefined
  /** What inference returns, by name. */
  readonly outputs?: Readonly<Record<string, Tensor>> | undefined
  /** Of a model for recall: what `oarfish export --vectors` and `oarfish index` write. */
  readonly vectors?: ModelVectors | undefined
}

/** What recall compares: vectors of users and of items, whose inner product is high where the user takes the item. */
export interface ModelVectors {
  /** Of each sample's user, [B, dim]; or several, [B, interests, dim], of which the nearest to an item counts. @default items alone are compared */
  readonly user?: Tensor | undefined
  /** Of items: made of inputs, [B, dim], one of which is the slot `id` (without it items go by the lines of their file); or all of them, [items, dim], numbered from 0. */
  readonly item: Tensor | { readonly id: SparseSlot; readonly vector: Tensor }
  /** The item that a sample's user took, for `runner.recall_at`: a slot, of which the last sign counts, or an int64 tensor [B, 1]. @default the slot `id` */
  readonly taken?: SparseSlot | Tensor | undefined
}

/** One optimizer for everything, or others for single tables by name. */
export type ModelOptimizer =
  | OptimizerSpec
  | {
      readonly kind?: undefined
      readonly dense: OptimizerSpec
      readonly tables: Readonly<Record<string, OptimizerSpec>>
    }

/** The class `StaticModel` that `static_model.ts` exports; constructed with the checked hyper-parameters. */
export interface StaticModel<Inputs = unknown> {
  createFeeds(feeds: Feeds, isInfer: boolean): Inputs
  /** Traced once for training and once, with `isInfer`, for evaluation. Pure: the same calls give the same program. */
  net(inputs: Inputs, isInfer: boolean): NetOutput
  /** In a collective job `strategy` is given, for `fleet.distributedOptimizer(optimizer, strategy)`; a plain optimizer means the same. */
  createOptimizer(strategy?: unknown): ModelOptimizer
}

/** A model file's exports. */
export interface ModelModule {
  readonly StaticModel: new (hyperParameters: never) => StaticModel
  /** The 1.x form, read where there is no StaticModel. */
  readonly Model?: new (
    hyperParameters: never,
  ) => ModelV1
  /** Declares names, types and defaults of `hyper_parameters`; without it, anything goes. */
  readonly hyperParameters?: z.ZodType
}

/**
 * The class `Model` of PaddleRec 1.x, which `model.py` of a 1.x config stands for; constructed with the checked
 * hyper-parameters. What it leaves out follows from the config.
 */
export interface ModelV1<Inputs = SlotInputs> {
  /** @default one input for each of the dataset's `sparse_slots` and `dense_slots` */
  inputData?(feeds: Feeds, isInfer: boolean): Inputs
  net(inputs: Inputs, isInfer: boolean): NetOutput
  /** @default by `hyper_parameters.optimizer`: its class (SGD, Adam, Adagrad) and learning_rate */
  optimizer?(): ModelOptimizer
}

/** The inputs that a 1.x dataset lists. */
export interface SlotInputs {
  /** The first of `sparse_slots`, by convention. */
  readonly label: Tensor
  readonly sparse: Readonly<Record<string, SparseSlot>>
  readonly dense: Readonly<Record<string, Tensor>>
}

/**
 * The class `DygraphModel` that `dygraph_model.ts` exports; constructed with the checked hyper-parameters. Its forward
 * methods run anew for every batch, may branch and loop by values they `await`, and may be async.
 */
export interface DygraphModel<Inputs = unknown, Model extends Layer = Layer> {
  createFeeds(feeds: Feeds, isInfer: boolean): Inputs
  /** The layers, which own all weights. */
  createModel(): Model
  createOptimizer(model: Model, strategy?: unknown): ModelOptimizer
  /** What the forward methods may return as metrics, by name. */
  createMetrics(): Readonly<Record<string, 'auc' | 'mean' | 'ratio'>>
  trainForward(model: Model, inputs: Inputs): NetOutput | Promise<NetOutput>
  inferForward(model: Model, inputs: Inputs): NetOutput | Promise<NetOutput>
}

/** A dynamic model file's exports. */
export interface DygraphModule {
  readonly DygraphModel: new (hyperParameters: never) => DygraphModel
  readonly hyperParameters?: z.ZodType
}

/** What a trainer thread needs to load a dynamic model itself: every step is traced where it runs. */
export interface DygraphSource {
  readonly file: string
  /** Checked hyper-parameters. */
  readonly values: unknown
  readonly runner: RunnerSettings
}
