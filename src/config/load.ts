/** @file One funnel: yaml text and -o arguments -> checked -> defaulted -> resolved. All problems are found before any is thrown. */
import { readFileSync } from 'node:fs'
import { isMap } from 'yaml'
import type { z } from 'zod'
import { buildNotices, refusals } from './build.ts'
import { conflicts } from './conflicts.ts'
import { type IssueContext, problemsOf } from './issues.ts'
import { locateConfig } from './locate.ts'
import { loosen } from './loose.ts'
import { applyOverrides, isRecord, parseOverrides } from './override.ts'
import { ConfigError, type ConfigProblem } from './problem.ts'
import { type JobConfig, resolveConfig } from './resolve.ts'
import { runnerSchema, type UserConfig, userConfigSchema } from './schema.ts'
import { elsewhere, shapeProblem } from './shape.ts'
import { type ConfigSource, duplicateKeys, readSource } from './source.ts'
import { syntaxProblem } from './syntax.ts'
import { defaultOf } from './walk.ts'

export interface LoadConfigOptions {
  /** What -m names: a yaml, or `paddlerec.models.rank.dnn` for a model of this package. */
  readonly path: string
  /** `key=value` of each -o. */
  readonly overrides?: readonly string[]
  readonly cwd?: string
}

export interface LoadedConfig {
  readonly config: JobConfig
  /** Worth saying once: keys without effect here, repeated keys. */
  readonly notices: readonly string[]
  /** Places what a model finds later in its hyper-parameters. */
  readonly source: ConfigSource
}

/** Reads and checks a config; throws one ConfigError that holds every problem. */
export function loadConfig({ path, overrides = [], cwd = process.cwd() }: LoadConfigOptions): LoadedConfig {
  const absolute = locateConfig(path, cwd)
  const parsed = parseOverrides(overrides)
  const source = readSource(path, readFileSync(absolute, 'utf8').replace(/^\uFEFF/, ''), parsed.overrides)
  const broken = syntaxProblem(source) ?? shapeProblem(source)
  if (broken) throw new ConfigError([...parsed.problems, broken], source)
  const data = applyOverrides(isMap(source.document.contents) ? source.document.toJS() : {}, parsed.overrides)
  const { value, problems } = check<UserConfig>({ schema: userConfigSchema, data, source, base: [], elsewhere })
  const sound = value ?? salvage(data)
  const all = [...parsed.problems, ...problems, ...refusals(sound, source), ...conflicts(sound, source)]
  if (!value || all.length > 0) throw new ConfigError(all, source)
  const { config, notices } = resolveConfig({ user: value, path: absolute, cwd, source })
  return { config, source, notices: [...duplicateKeys(source), ...buildNotices(value, source), ...notices] }
}

/** Checks hyper_parameters by the schema that the model declares. Errors look like all others. */
export function validateHyperParameters<T>(
  { config, source }: Pick<LoadedConfig, 'config' | 'source'>,
  schema: z.ZodType<T>,
): T {
  const { value, problems } = check<T>({ schema, data: config.hyper_parameters, source, base: ['hyper_parameters'] })
  if (problems.length > 0) throw new ConfigError(problems, source)
  return value as T
}

/** The same for `runner.custom`, whose schema a reader or model declares. */
export function validateCustom<T>(
  { config, source }: Pick<LoadedConfig, 'config' | 'source'>,
  schema: z.ZodType<T>,
): T {
  const { value, problems } = check<T>({ schema, data: config.runner.custom, source, base: ['runner', 'custom'] })
  if (problems.length > 0) throw new ConfigError(problems, source)
  return value as T
}

/** What is sound of a config that is not, so that problems between keys are found in the same pass. */
function salvage(data: unknown): UserConfig {
  const root = loosen(userConfigSchema, data) as Partial<Record<keyof UserConfig, unknown>>
  const runner = isRecord(root.runner) ? root.runner : {}
  const sound = Object.entries(runnerSchema.shape).map(([key, schema]) => {
    const result = (schema as z.ZodType).safeParse(runner[key])
    return [key, result.success ? result.data : defaultOf(schema as z.ZodType)]
  })
  const { success, data: last_epoch } = userConfigSchema.shape.last_epoch.safeParse(root.last_epoch)
  return {
    runner: Object.fromEntries(sound),
    hyper_parameters: {},
    table_parameters: {},
    ...(success && { last_epoch }),
  }
}

function check<T>(context: IssueContext & { readonly schema: z.ZodType }): { value?: T; problems: ConfigProblem[] } {
  const data = loosen(context.schema, context.data)
  const result = context.schema.safeParse(data)
  return result.success
    ? { value: result.data as T, problems: [] }
    : { problems: problemsOf(result.error.issues, { ...context, data }) }
}
