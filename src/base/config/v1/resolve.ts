/** @file From a checked 1.x config to the RunConfig that runs: `{workspace}` filled in, paths absolute, slots parsed, frozen. */
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { packageFile } from '../../util/index.ts'
import { isRemote } from '../paths.ts'
import { type DeepReadonly, deepFreeze, substitute, workspaceOf } from '../resolve.ts'
import type { UserConfigV1, UserDatasetV1, UserPhaseV1, UserRunnerV1 } from './schema.ts'
import { parseDenseSlots, parseSparseSlots, type SlotsV1 } from './slots.ts'

export type RunnerV1 = DeepReadonly<UserRunnerV1>
export type PhaseV1 = DeepReadonly<UserPhaseV1>
export type DatasetV1 = DeepReadonly<UserDatasetV1> & { readonly slots: SlotsV1 }

export interface RunConfig {
  /** The yaml, absolute. */
  readonly path: string
  readonly dir: string
  readonly cwd: string
  readonly workspace: string
  /** Names of the runners to run, in order. */
  readonly mode: readonly string[]
  readonly runner: readonly RunnerV1[]
  readonly dataset: readonly DatasetV1[]
  readonly phase: readonly PhaseV1[]
  readonly hyper_parameters: Readonly<Record<string, unknown>>
  /** train.strategy.mode.push_num: batches between two exchanges of geo. */
  readonly pushNum: number
}

export function resolveV1({ user, path, cwd }: { user: UserConfigV1; path: string; cwd: string }): RunConfig {
  const dir = dirname(path)
  const workspace = packaged(user.workspace) ?? workspaceOf(slashes(user.workspace), { cwd, dir })
  const filled = substitute(user, workspace) as UserConfigV1
  const here = (written: string) => absolute(slashes(written), cwd)
  return deepFreeze({
    path,
    dir,
    cwd,
    workspace,
    mode: filled.mode,
    hyper_parameters: filled.hyper_parameters,
    pushNum: filled.train.strategy.mode.push_num,
    runner: filled.runner.map((runner) => ({ ...runner, ...changed(runner, RUNNER_PATHS, here) })),
    dataset: filled.dataset.map((dataset) => ({
      ...dataset,
      data_path: inPackage(dataset.data_path) ?? here(dataset.data_path),
      data_converter: dataset.data_converter === undefined ? undefined : here(dataset.data_converter),
      slots: { sparse: parseSparseSlots(dataset.sparse_slots), dense: parseDenseSlots(dataset.dense_slots).slots },
    })),
    phase: filled.phase.map((phase) => ({ ...phase, model: here(phase.model) })),
  }) as RunConfig
}

/** The phases that a runner runs: in the order of `phase`, whatever the order of its `phases`. */
export function phasesOf({ phase }: RunConfig, { phases }: RunnerV1): readonly PhaseV1[] {
  return phases.length === 0 ? phase : phase.filter(({ name }) => phases.includes(name))
}

const RUNNER_PATHS = [
  'init_model_path',
  'save_checkpoint_path',
  'save_inference_path',
  'save_step_path',
  'runner_result_dump_path',
] as const

/** `paddlerec.models.rank.dnn`: that folder of this package. */
function packaged(workspace: string): string | undefined {
  return /^paddlerec(\.[\w-]+)+\/?$/.test(workspace)
    ? packageFile(join(...workspace.replace(/\/$/, '').split('.').slice(1)))
    : undefined
}

/** `paddlerec::data/train`: below this package's folder. */
function inPackage(path: string): string | undefined {
  return path.startsWith('paddlerec::') ? packageFile(path.slice('paddlerec::'.length)) : undefined
}

const slashes = (path: string) => (process.platform === 'win32' ? path : path.replaceAll('\\', '/'))

/** An empty path is none. */
const absolute = (path: string, cwd: string) =>
  path === '' || isAbsolute(path) || isRemote(path) ? path : resolve(cwd, path)

function changed<T, K extends keyof T>(item: T, keys: readonly K[], change: (value: string) => string): Partial<T> {
  return Object.fromEntries(keys.map((key) => [key, change(item[key] as string)])) as Partial<T>
}
