/** @file The public face of fluid/: Paddle Fluid's way to write programs, as `import { fluid } from 'oarfish'`. */

export {
  countFilterEntry as CountFilterEntry,
  probabilityEntry as ProbabilityEntry,
  showClickEntry as ShowClickEntry,
} from '../table/index.ts'
export { initializer, ParamAttr, type ParamAttrOptions, type Regularizer, regularizer } from './attr.ts'
export type { Dataset } from './dataset.ts'
export { DatasetFactory, type DatasetName } from './dataset-factory.ts'
export type { DatasetRunOptions } from './dataset-runs.ts'
export * as dataset from './datasets.ts'
export { type AnyProgram, CPUPlace, Executor, type ExecutorOptions, type Place, type RunOptions } from './executor.ts'
export { DataFeeder, type Feed, type FeedValue } from './feed.ts'
export type { Fetched } from './fetched.ts'
export type { InMemoryDataset, Workers } from './in-memory-dataset.ts'
export * as io from './io.ts'
export * as layers from './layers/index.ts'
export * as optimizer from './optimizer.ts'
export { defaultMainProgram, defaultStartupProgram, Program, programGuard } from './program.ts'
export type { QueueDataset } from './queue-dataset.ts'
export * as reader from './reader.ts'
export { TestProgram } from './test-program.ts'
export { DistributeTranspilerConfig, SPLIT_METHODS, type SplitMethod } from './transpiler/config.ts'
export type { PserverProgram, PserverStartup } from './transpiler/pserver.ts'
export { DistributeTranspiler, type TranspileOptions } from './transpiler/transpiler.ts'
export { Variable } from './variable.ts'
