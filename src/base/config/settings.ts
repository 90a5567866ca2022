/** @file Settings of a program as `key=value` arguments: the one form in which anything is laid over a yaml, here and in processes started for it. */
import { parse } from 'yaml'
import { isRecord } from './override.ts'
import { type UserConfig, userConfigSchema } from './schema.ts'
import { bare, defOf, type Path, schemaAt } from './walk.ts'

/** Some keys of config.yaml and their values, in its groups. */
export interface Settings {
  /** Keys of the run: epochs, batches, folders, threads. */
  readonly runner?: Partial<UserConfig['runner']> | undefined
  /** Keys that the model declares. */
  readonly hyper_parameters?: Readonly<Record<string, unknown>> | undefined
  /** Sparse tables, by the name of the embedding. */
  readonly table_parameters?: Readonly<Record<string, unknown>> | undefined
  /** What `{workspace}` stands for. */
  readonly workspace?: string | undefined
}

/** `{ runner: { epochs: 2 } }` as `runner.epochs=2`; what is undefined is left as the file has it. */
export function overrideArguments(settings: Settings): string[] {
  return leaves(settings, []).map(([path, value]) => `${path.join('.')}=${valueText(path, value)}`)
}

/** True for keys that hold text, so that `-o runner.test_data_dir=0720` stays what was typed. */
export function isText(path: Path): boolean {
  const schema = schemaAt(userConfigSchema, path)
  return schema !== undefined && defOf(bare(schema)).type === 'string'
}

type Leaf = readonly [path: readonly string[], value: unknown]

/** Groups are merged with those of the file; a list takes the place of a list. */
function leaves(value: unknown, path: readonly string[]): readonly Leaf[] {
  if (value === undefined) return []
  if (!isRecord(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, own]) => leaves(own, [...path, key]))
}

function valueText(path: Path, value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return isText(path) || readsAs(value) ? value : JSON.stringify(value)
}

/** Whether yaml reads these letters as themselves: `5` and `[a]` it does not. */
function readsAs(text: string): boolean {
  try {
    return parse(text) === text
  } catch {
    return false
  }
}
