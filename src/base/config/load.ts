/** @file One funnel: yaml text and -o arguments -> checked -> defaulted -> resolved. All problems are found before any is thrown. */
import { basename, dirname } from 'node:path'
import { isMap } from 'yaml'
import type { z } from 'zod'
import { openSource } from './open-source.ts'
import { applyOverrides, isRecord, parseOverrides } from './override.ts'
import { normalizeConfig } from './paddlerec-forms.ts'
import { locateConfig, modelNotices, readerFile, readerProblem, stem } from './paths.ts'
import { ConfigError, type ConfigProblem } from './problem.ts'
import { buildNotices, conflicts, refusals } from './refusals.ts'
import { loosen } from './repair.ts'
import { dottedKeys, type JobConfig, resolveConfig } from './resolve.ts'
import { evaluationSchema, runnerSchema, type UserConfig, userConfigSchema } from './schema.ts'
import { isText } from './settings.ts'
import { elsewhere, shapeProblem } from './shape.ts'
import { type ConfigSource, duplicateKeys, isWritten, valuesOf } from './source.ts'
import { syntaxProblem } from './syntax.ts'
import { check } from './validate.ts'
import { defaultOf } from './walk.ts'

export interface LoadConfigOptions {
  /** What -m names: a yaml, or `paddlerec.models.rank.dnn` for a model of this package. */
  readonly path: string
  /** `key=value` of each -o. */
  readonly overrides?: readonly string[] | undefined
  readonly cwd?: string | undefined
}

/** A configuration that was read and checked: what every call takes in place of a path. */
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
  return checkedConfig(openSource(path, absolute, parsed.overrides), { absolute, cwd, problems: parsed.problems })
}

export interface OpenedConfig {
  readonly absolute: string
  readonly cwd: string
  /** What is wrong with the -o arguments. */
  readonly problems: readonly ConfigProblem[]
}

/** What loadConfig does once the text was read. */
export function checkedConfig(source: ConfigSource, { absolute, cwd, problems: before }: OpenedConfig): LoadedConfig {
  const broken = syntaxProblem(source) ?? shapeProblem(source)
  if (broken) throw new ConfigError([...before, broken], source)
  const written = isMap(source.document.contents) ? valuesOf(source) : {}
  const merged = applyOverrides(written, source.overrides, isText)
  const { data, onlyEvaluates, notices: taken } = normalizeConfig(merged)
  const schema = onlyEvaluates ? evaluationSchema : userConfigSchema
  const { value, problems } = check<UserConfig>({
    schema,
    data,
    source,
    base: [],
    elsewhere: (path) => elsewhere(path, data),
  })
  const sound = value ?? salvage(data)
  const found = [
    ...refusals(sound, source),
    ...conflicts(sound, source),
    ...readerProblems(sound, source, dirname(absolute)),
  ]
  const all = [...before, ...problems, ...found]
  if (!value || all.length > 0) throw new ConfigError(all, source)
  const config = resolveConfig({ user: value, path: absolute, cwd, written: dottedKeys(merged) })
  const notices = [
    ...duplicateKeys(source),
    ...taken,
    ...buildNotices(value, source),
    ...readerNotices(value, source, dirname(absolute)),
    ...modelNotices(dirname(absolute)),
  ]
  return { config, source, notices }
}

/** What is sound of a config that is not, so that problems between keys are found in the same pass. */
function salvage(data: unknown): UserConfig {
  const root = loosen(userConfigSchema, data) as Partial<Record<keyof UserConfig, unknown>>
  const runner = isRecord(root.runner) ? root.runner : {}
  const sound = Object.entries(runnerSchema.shape).flatMap(([key, schema]) => {
    if (runner[key] === undefined) return []
    const result = (schema as z.ZodType).safeParse(runner[key])
    return result.success ? [[key, result.data]] : []
  })
  const { data: last_epoch } = userConfigSchema.shape.last_epoch.safeParse(root.last_epoch)
  return {
    runner: { ...runnerDefaults(), ...Object.fromEntries(sound) },
    hyper_parameters: {},
    table_parameters: {},
    last_epoch,
  }
}

let defaults: UserConfig['runner'] | undefined

function runnerDefaults(): UserConfig['runner'] {
  defaults ??= Object.fromEntries(
    Object.entries(runnerSchema.shape).map(([key, schema]) => [key, defaultOf(schema as z.ZodType)]),
  ) as UserConfig['runner']
  return defaults
}

const READER_KEYS = ['train_reader_path', 'infer_reader_path'] as const

function readerProblems({ runner }: UserConfig, source: ConfigSource, dir: string) {
  return READER_KEYS.flatMap((key) => readerProblem(key, runner[key], { dir, source }) ?? [])
}

function readerNotices({ runner }: UserConfig, source: ConfigSource, dir: string): string[] {
  // PaddleRec's configs name a reader beside a pipe_command, which then reads.
  const piped = (type: string) => runner.pipe_command !== undefined && /^(Queue|Inmemory)Dataset$/.test(type)
  const types = { train_reader_path: runner.reader_type, infer_reader_path: runner.infer_reader_type }
  const missing = READER_KEYS.filter(
    (key) =>
      isWritten(source, ['runner', key]) &&
      runner[key] !== '' &&
      !piped(types[key] ?? runner.reader_type) &&
      !readerFile(dir, runner[key]),
  )
  if (missing.length === 0) return []
  const files = [...new Set(missing.map((key) => `${stem(runner[key])}.ts or .py`))].join(' and no ')
  const keys = missing.map((key) => `runner.${key}`).join(', ')
  return [`${keys}: there is no ${files} beside ${basename(source.file)}; the built-in reader reads the data`]
}
