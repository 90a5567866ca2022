/** @file From a checked UserConfig to the JobConfig that runs: paths absolute, linked keys settled, frozen; the same for a run that a program describes. */
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { processEnv } from '../env/index.ts'
import { isRecord } from './override.ts'
import { ZOO } from './paddlerec-keys.ts'
import { isRemote, readerFile } from './paths.ts'
import { type RunnerKeys, type UserConfig, userConfigSchema } from './schema.ts'
import type { TableParameters } from './table-parameters.ts'
import type { SlotsV1 } from './v1/slots.ts'

/** The runner as it runs: `infer_batch_size` is settled, and a reader is a file that exists or undefined = the built-in reader. */
export type RunnerConfig = DeepReadonly<
  Omit<
    RunnerKeys,
    | 'infer_batch_size'
    | 'infer_load_path'
    | 'train_reader_path'
    | 'infer_reader_path'
    | 'infer_reader_type'
    | 'train_data_dir'
    | keyof typeof ZOO.shape
  > & {
    infer_batch_size: number
    infer_load_path: string
    infer_reader_type: RunnerKeys['reader_type']
    /** Undefined: the config can only evaluate. */
    train_data_dir: string | string[] | undefined
    train_reader_path: string | undefined
    infer_reader_path: string | undefined
  }
>

/** A configuration with every default filled and every path resolved; frozen. */
export interface JobConfig {
  /** The yaml, absolute. */
  readonly path: string
  /** Its folder. */
  readonly dir: string
  readonly workspace: string
  readonly runner: RunnerConfig
  /** For the model's schema; see validateHyperParameters. */
  readonly hyper_parameters: Readonly<Record<string, unknown>>
  readonly table_parameters: DeepReadonly<Record<string, TableParameters>>
  /** The model's file, where the config names it; else it is looked for in `dir`. */
  readonly model?: string
  /** The yaml by dotted keys, as written and with every -o: what a reader in Python is given. */
  readonly written: Readonly<Record<string, unknown>>
  /** What a 1.x config says of reading beyond these keys. */
  readonly dataset?: DatasetRules
}

export interface DatasetRules {
  /** For a model that builds its inputs from them. */
  readonly slots: SlotsV1
  /** The value of a slot that a line does not have. */
  readonly padding: number
  /** Whether a last, smaller batch is left out. */
  readonly dropLast: boolean
  /** The class of the reader module. */
  readonly readerClass: string
}

export type DeepReadonly<T> = T extends (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

export interface ResolveOptions {
  readonly user: UserConfig
  readonly path: string
  readonly cwd: string
  /** By dotted keys. @default what `user` has */
  readonly written?: Readonly<Record<string, unknown>> | undefined
}

export function resolveConfig({ user, path, cwd, written: keys }: ResolveOptions): JobConfig {
  const dir = dirname(path)
  const workspace = workspaceOf(user.workspace, { cwd, dir })
  const written = substitute(user.runner, workspace) as RunnerKeys
  const paths = pathsOf(written, { cwd, dir })
  const runner = {
    ...paths,
    infer_load_path: paths.infer_load_path ?? paths.model_save_path,
    train_reader_path: readerFile(dir, written.train_reader_path),
    infer_reader_path: readerFile(dir, written.infer_reader_path),
    infer_batch_size: written.infer_batch_size ?? written.train_batch_size,
    infer_reader_type: written.infer_reader_type ?? written.reader_type,
    reader_threads: written.reader_threads || written.num_workers,
    last_epoch: Math.max(written.last_epoch, user.last_epoch ?? -1),
    tls: tlsFiles(dir, written.tls),
    custom: { ...zooKeys(written), ...written.custom },
  }
  for (const key of Object.keys(ZOO.shape)) delete (runner as Record<string, unknown>)[key]
  const config = {
    path,
    dir,
    workspace,
    runner,
    hyper_parameters: substitute(user.hyper_parameters, workspace) as Record<string, unknown>,
    table_parameters: user.table_parameters,
    written: keys ?? dottedKeys(user),
  }
  return deepFreeze(config) as JobConfig
}

/** PaddleRec's own form of a configuration: `runner: {epochs: 2}` is `runner.epochs`; lists stay lists. */
export function dottedKeys(value: unknown, path = ''): Record<string, unknown> {
  if (!isRecord(value)) return { [path]: value }
  const below = (key: string) => (path === '' ? key : `${path}.${key}`)
  return Object.assign({}, ...Object.entries(value).map(([key, item]) => dottedKeys(item, below(key))))
}

/** The files of `runner.tls` beside the yaml. */
function tlsFiles(dir: string, tls: RunnerKeys['tls']): RunnerKeys['tls'] {
  if (tls === undefined || tls === 'auto') return tls
  return { cert: resolve(dir, tls.cert), key: resolve(dir, tls.key), ca: resolve(dir, tls.ca) }
}

/** PaddleRec runs from its own root, so a workspace is relative to the working folder; beside the yaml serves everyone else. */
export function workspaceOf(workspace: string | undefined, { cwd, dir }: { cwd: string; dir: string }): string {
  if (workspace === undefined) return dir
  const fromCwd = resolve(cwd, workspace)
  return existsSync(fromCwd) ? fromCwd : resolve(dir, workspace)
}

export function substitute(value: unknown, workspace: string): unknown {
  if (typeof value === 'string') return value.replaceAll('{workspace}', workspace)
  if (Array.isArray(value)) return value.map((item) => substitute(item, workspace))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, workspace)]))
}

const BESIDE_YAML = ['train_data_dir', 'test_data_dir', 'infer_data_dir', 'data_dir'] as const
const IN_CWD = [
  'model_init_path',
  'infer_load_path',
  'warmup_model_path',
  'init_model_path',
  'run_dir',
  'tensorboard',
] as const

function pathsOf(runner: RunnerKeys, { cwd, dir }: { cwd: string; dir: string }): RunnerKeys {
  const absolute = (base: string) => (key: keyof RunnerKeys) => {
    const path = runner[key] as string | string[] | undefined
    const one = (path: string) => (isRemote(path) || isAbsolute(path) ? path : resolve(base, path))
    // An empty model_save_path is no path: nothing is saved.
    if (path === undefined || path === '') return []
    return [[key, Array.isArray(path) ? path.map(one) : one(path)]]
  }
  // Where pods of a job come and go, what it saves is kept elsewhere than its other files.
  const saves = absolute(processEnv()['OARFISH_SAVE_ROOT'] || cwd)('model_save_path')
  const paths = [...BESIDE_YAML.flatMap(absolute(dir)), ...IN_CWD.flatMap(absolute(cwd)), ...saves]
  return { ...runner, ...Object.fromEntries(paths) }
}

function zooKeys(runner: RunnerKeys): Record<string, unknown> {
  return Object.fromEntries(Object.entries(runner).filter(([key, value]) => key in ZOO.shape && value !== undefined))
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}

/** `runner` holds what differs from the defaults; paths are relative to `dir`. */
export function programConfig(runner: Partial<RunnerKeys>, dir: string): JobConfig {
  const required = { train_data_dir: '.', train_batch_size: 1, model_save_path: '' }
  const user = userConfigSchema.parse({ runner: { ...required, ...runner } })
  return resolveConfig({ user, path: join(dir, 'program'), cwd: dir })
}
