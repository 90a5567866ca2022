/**
 * @file Paddle Fluid's way to write programs, as `import * as fluid from 'oarfish/fluid'`: layers, Executor, datasets, transpiler.
 * The only module state is its default programs. Names are Paddle's; nothing below may import it.
 */
export {
  countFilterEntry as CountFilterEntry,
  probabilityEntry as ProbabilityEntry,
  showClickEntry as ShowClickEntry,
} from '../../weights/table/index.ts'
export { initializer, ParamAttr, type ParamAttrOptions, type Regularizer, regularizer } from './attr.ts'
export type { Dataset } from './dataset.ts'
export type { DatasetRunOptions } from './dataset-runs.ts'
export { DatasetFactory, type DatasetName, type InMemoryDataset, type QueueDataset, type Workers } from './datasets.ts'
export { type AnyProgram, CPUPlace, Executor, type ExecutorOptions, type Place, type RunOptions } from './executor.ts'
export { DataFeeder, type Feed, type FeedValue } from './feed.ts'
export * as io from './io.ts'
export * as layers from './layers/index.ts'
export * as optimizer from './optimizer.ts'
export { defaultMainProgram, defaultStartupProgram, Program, programGuard, TestProgram } from './program.ts'
export * as reader from './reader.ts'
export type { Fetched } from './runnable.ts'
export { DistributeTranspilerConfig, SPLIT_METHODS, type SplitMethod } from './transpiler/config.ts'
export type { PserverProgram, PserverStartup } from './transpiler/pserver.ts'
export { DistributeTranspiler, type TranspileOptions } from './transpiler/transpiler.ts'
export * as dataset from './uci-housing.ts'
export { Variable } from './variable.ts'
