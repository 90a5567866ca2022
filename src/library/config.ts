/** @file The configuration of a call: a file or what was loaded of one, with settings of the program laid over it. */
import { type LoadedConfig, loadConfig as load, overrideArguments, type Settings } from '../base/config/index.ts'
import { UserError } from '../base/util/index.ts'

/** Which configuration a call works by. */
export interface ConfigOptions {
  /** A config.yaml; a model of this package, as `paddlerec.models.rank.dnn`; or what loadConfig returned. */
  readonly config: string | LoadedConfig
  /** Settings over those of the file: `{ runner: { epochs: 2 } }`. They are checked as strictly as the file is. */
  readonly set?: Settings | undefined
}

/** Options of loadConfig. */
export interface LoadConfigOptions extends ConfigOptions {
  readonly config: string
  /** What relative paths are relative to. @default the working folder */
  readonly cwd?: string | undefined
}

/**
 * Reads and checks a configuration; throws one ConfigError that holds every problem with its line.
 *
 * @example
 * const { config } = loadConfig({ config: 'config.yaml', set: { runner: { epochs: 2 } } })
 * console.log(config.runner.epochs)
 */
export function loadConfig({ config, set = {}, cwd }: LoadConfigOptions): LoadedConfig {
  return load({ path: config, overrides: overrideArguments(set), cwd })
}

/** The configuration that a call names. */
export function configOf({ config, set }: ConfigOptions): LoadedConfig {
  if (typeof config === 'string') return loadConfig({ config, set })
  if (set === undefined) return config
  throw new UserError('set: a configuration that is loaded already takes no settings.', {
    code: 'CONFIG_OVERRIDE',
    hint: 'Pass set to loadConfig, or the path of the file as config.',
  })
}
