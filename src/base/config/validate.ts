/** @file Checks against a schema, and those that come later: a model's hyper-parameters, data folders. */
import type { z } from 'zod'
import { type IssueContext, problemsOf } from './issues.ts'
import type { LoadedConfig } from './load.ts'
import { placeOf, setFix } from './mend.ts'
import { folderProblem } from './paths.ts'
import { ConfigError, type ConfigProblem } from './problem.ts'
import { loosen } from './repair.ts'

type Loaded = Pick<LoadedConfig, 'config' | 'source'>

/** Checks hyper_parameters by the schema that the model declares. Errors look like all others. */
export function validateHyperParameters<T>({ config, source }: Loaded, schema: z.ZodType<T>): T {
  const context = { schema, data: config.hyper_parameters, source, base: ['hyper_parameters'] }
  const { value, problems } = check<T>(context)
  if (problems.length > 0) throw new ConfigError(problems, source)
  return value as T
}

/** Throws when a data folder is missing, with the nearest one that exists. */
export function checkDataDirs(
  { config, source }: Loaded,
  keys: readonly ('train_data_dir' | 'test_data_dir')[] = ['train_data_dir', 'test_data_dir'],
): void {
  const problems = keys.flatMap((key) => {
    const paths = [config.runner[key] ?? []].flat()
    return paths.flatMap((path) => folderProblem(key, path, { dir: config.dir, source }) ?? [])
  })
  if (problems.length > 0) throw new ConfigError(problems, source)
}

/** An error at a key, for what only a model or a reader can find out. `instead` is a value that would be right. */
export function configErrorAt({ source }: Loaded, key: string, message: string, instead?: unknown): ConfigError {
  const path = key.split('.')
  const fix = instead === undefined ? undefined : setFix(source, path, instead)
  return new ConfigError([{ code: 'CONFIG_VALUE', key, message, place: placeOf(source, path, 'value'), fix }], source)
}

/** The checked value or the problems; values are read loosely first. */
export function check<T>(context: IssueContext): { value?: T; problems: ConfigProblem[] } {
  const data = loosen(context.schema, context.data)
  const result = context.schema.safeParse(data)
  if (result.success) return { value: result.data as T, problems: [] }
  return { problems: problemsOf(result.error.issues, { ...context, data }) }
}
