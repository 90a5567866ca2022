/** @file The public face of config/: PaddleRec's config.yaml, checked and resolved. */
export {
  COLLECTIVES,
  type Collective,
  type GeoDelta,
  SYNC_MODES,
  type SyncMode,
  WIRE_PRECISIONS,
  type WirePrecision,
} from './cluster-keys.ts'
export { commonConfigs, explain, formatSettings } from './explain.ts'
export { jsonSchema } from './json-schema.ts'
export { type LoadConfigOptions, type LoadedConfig, loadConfig } from './load.ts'
export { CONFIG_CODES, type ConfigCode, ConfigError, type ConfigProblem, formatConfigErrors } from './problem.ts'
export { programConfig } from './program-config.ts'
export type { DeepReadonly, JobConfig, RunnerConfig } from './resolve.ts'
export {
  DATA_FORMATS,
  type DataFormat,
  ON_BAD_LINE,
  type OnBadLine,
  READER_TYPES,
  type ReaderType,
} from './runner-keys.ts'
export { type ConfigSource, isWritten } from './source.ts'
export {
  ACCESSOR_CLASSES,
  SGD_RULES,
  sparseTableConfigs,
  TABLE_CLASSES,
  type TableParameters,
} from './table-parameters.ts'
export * from './v1/index.ts'
export { checkDataDirs, configErrorAt, validateCustom, validateHyperParameters } from './validate.ts'
