/** @file One funnel for PaddleRec 1.x's form: yaml text -> checked -> defaulted -> resolved. All problems are found before any is thrown. And a config by dotted keys, as PaddleRec prints it. */
import { isMap } from 'yaml'
import type { IssueContext } from '../issues.ts'
import { sourceOf, yamlTextOf } from '../open-source.ts'
import { isRecord } from '../override.ts'
import { locateConfig } from '../paths.ts'
import { ConfigError, type ConfigProblem } from '../problem.ts'
import { type ConfigSource, duplicateKeys, valuesOf } from '../source.ts'
import { syntaxProblem } from '../syntax.ts'
import { check } from '../validate.ts'
import { freeKeyNotices, freeKeyProblems } from './free-keys.ts'
import { references } from './references.ts'
import { type RunConfig, resolveV1 } from './resolve.ts'
import { configV1, type UserConfigV1 } from './schema.ts'
import { isRunConfig, normalize, shapeProblemV1, unclassed } from './shape.ts'

export interface LoadRunConfigOptions {
  /** What -m names: a yaml, or `paddlerec.models.rank.dnn` for one of this package. */
  readonly path: string
  readonly cwd?: string
}

/** A PaddleRec 1.x configuration that was read and checked. */
export interface LoadedRunConfig {
  readonly config: RunConfig
  /** Worth a warning: keys written twice. */
  readonly warnings: readonly string[]
  /** Worth saying once: keys without effect here. */
  readonly notices: readonly string[]
  readonly source: ConfigSource
}

/** Reads and checks a config of the 1.x form; throws one ConfigError that holds every problem. */
export function loadRunConfig({ path, cwd = process.cwd() }: LoadRunConfigOptions): LoadedRunConfig {
  const absolute = locateConfig(path, cwd)
  return parseRunConfig({ file: path, text: yamlTextOf(path, absolute), absolute, cwd })
}

export interface RunConfigText {
  /** As the user named it. */
  readonly file: string
  readonly text: string
  readonly absolute: string
  readonly cwd: string
}

export const parseRunConfig = ({ file, text, ...place }: RunConfigText): LoadedRunConfig =>
  checkedRunConfig(sourceOf(file, text.replace(/^\uFEFF/, '')), place)

/** What parseRunConfig does once the text was read. */
export function checkedRunConfig(
  source: ConfigSource,
  { absolute, cwd }: Pick<RunConfigText, 'absolute' | 'cwd'>,
): LoadedRunConfig {
  const broken = syntaxProblem(source) ?? shapeProblemV1(source)
  if (broken) throw new ConfigError([broken], source)
  const written = isMap(source.document.contents) ? valuesOf(source) : {}
  const data = normalize(written)
  const context: IssueContext = { schema: configV1, data, source, base: [] }
  const { value, problems } = check<UserConfigV1>(context)
  const free = freeKeyProblems(data, source)
  const between = references(data, source)
  // A mistyped key is not missing as well, and what names another thing knows better what is there to name.
  const reported = new Set([...free.map(({ meant }) => meant.join('.')), ...between.map(({ key }) => key)])
  const all = [
    ...problems.filter(({ code, key }) => code !== 'CONFIG_MISSING_KEY' || !reported.has(key)),
    ...free.map(({ problem }) => problem),
    ...between.filter(
      ({ code, key }) => code !== 'CONFIG_MISSING_KEY' || !free.some(({ meant }) => meant.join('.') === key),
    ),
  ].map((problem) => named(problem, data))
  if (!value || all.length > 0) throw new ConfigError(all, source)
  const idle = unclassed(written).map(
    (name) => `runner ${name} has no class; it is not selected by mode, so it does not run`,
  )
  const config = resolveV1({ user: value, path: absolute, cwd })
  return { config, source, warnings: duplicateKeys(source), notices: [...freeKeyNotices(value), ...idle] }
}

/** Whether a yaml is for `oarfish run` (1.x) rather than `oarfish train`. */
export function isRunConfigFile(path: string, cwd = process.cwd()): boolean {
  return isRunConfig(sourceOf(path, yamlTextOf(path, locateConfig(path, cwd)).replace(/^\uFEFF/, '')))
}

/** `runner.0.class` with the name that the item has, as PaddleRec prints its keys: `runner.single_cpu_train.class`. */
function named(problem: ConfigProblem, data: unknown): ConfigProblem {
  const [group, index, ...rest] = problem.key.split('.')
  const items = isRecord(data) ? data[group ?? ''] : undefined
  const item = Array.isArray(items) && index !== undefined ? items[Number(index)] : undefined
  if (!isRecord(item) || typeof item['name'] !== 'string' || group === 'mode') return problem
  return { ...problem, key: [group, item['name'], ...rest].join('.') }
}

/** As written, with `{workspace}` in it; items of lists by their name. */
export function flattenRunConfig({ source }: Pick<LoadedRunConfig, 'source'>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(entries(valuesOf(source), ''))
}

function entries(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  const below = (key: string) => (path === '' ? key : `${path}.${key}`)
  if (isRecord(value)) return Object.entries(value).flatMap(([key, item]) => entries(item, below(key)))
  if (!Array.isArray(value) || !NAMED.includes(path)) return [[path, value]]
  return value.flatMap((item) => {
    if (!isRecord(item)) return []
    const { name, ...rest } = item
    return entries(rest, below(String(name)))
  })
}

const NAMED = ['runner', 'dataset', 'phase']
