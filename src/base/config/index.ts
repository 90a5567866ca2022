/**
 * @file PaddleRec's config.yaml and backend.yaml: schema, overrides, checks with line and column, the resolved job.
 * Knows nothing of models or data beyond their paths.
 */
export { type Collective, type GeoDelta, type ScaleLr, SYNC_MODES, type WirePrecision } from './cluster-keys.ts'
export { explain, formatSettings, SECRET_KEYS } from './explain.ts'
export { type LoadedConfig, loadConfig } from './load.ts'
export { MODEL_FILES } from './paths.ts'
export { CONFIG_CODES, ConfigError, type ConfigProblem } from './problem.ts'
export { type DeepReadonly, type JobConfig, programConfig } from './resolve.ts'
export { jsonSchema } from './schema.ts'
export { overrideArguments, type Settings } from './settings.ts'
export { isWritten } from './source.ts'
export { sparseTableConfigs, type TableParameters } from './table-parameters.ts'
export * from './v1/index.ts'
export { checkDataDirs, configErrorAt, validateHyperParameters } from './validate.ts'
export { parseYaml, parseYamlValue, readYamlFile, YAML_LIMITS, YamlRefusal } from './yaml-text.ts'
