/** @file Files that the selected runners need: models, readers and data folders. Looked for before anything runs, all at once. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { suggest } from '../../util/index.ts'
import { placeOf, setFix } from '../mend.ts'
import { isRemote, nearestFolder, readerFile, stem } from '../paths.ts'
import { ConfigError, type ConfigProblem } from '../problem.ts'
import type { Path } from '../walk.ts'
import type { LoadedRunConfig } from './load.ts'
import { type DatasetV1, type PhaseV1, phasesOf, type RunConfig, type RunnerV1 } from './resolve.ts'

/** Where a run takes place. */
export interface RunPlace {
  /** A backend.yaml was given. */
  readonly backend: boolean
  /** This process is one of a job already. */
  readonly node: boolean
}

/** Throws with every runner, model and folder that would stop a selected runner. */
export function checkRun({ config, source }: LoadedRunConfig, place: RunPlace = { backend: false, node: false }): void {
  const problems = selectedRunners(config).flatMap((runner) => [
    ...classProblems(runner, { config, source }, place),
    ...phasesOf(config, runner).flatMap((phase) => phaseProblems(phase, { config, source })),
  ])
  const distinct = problems.filter((item, i) => problems.findIndex((other) => other.key === item.key) === i)
  if (distinct.length > 0) throw new ConfigError(distinct, source)
}

/** The runners of `mode`, in its order, or the one that is asked for. */
export const selectedRunners = ({ mode, runner }: RunConfig, only?: string): readonly RunnerV1[] =>
  mode.filter((name) => only === undefined || name === only).map((name) => runner.find((item) => item.name === name)!)

/** `model.py`: model.ts beside it, else static_model.ts; undefined where neither is there. */
export function modelFileV1(path: string): string | undefined {
  const candidates = [`${stem(path)}.ts`, `${stem(path)}.js`, join(dirname(path), 'static_model.ts')]
  return candidates.find((file) => existsSync(file))
}

type Context = Pick<LoadedRunConfig, 'config' | 'source'>

function classProblems(runner: RunnerV1, { config, source }: Context, { backend, node }: RunPlace): ConfigProblem[] {
  if (runner.class !== 'cluster_train' || node) return []
  const path = ['runner', config.runner.indexOf(runner), 'class']
  const message = backend
    ? 'this build does not submit jobs to a cluster yet; local_cluster_train runs servers and workers on this host'
    : "cluster_train submits the job and needs the cluster's backend.yaml: oarfish run -m config.yaml -b backend.yaml"
  return [
    {
      code: backend ? 'CONFIG_NOT_IN_BUILD' : 'CONFIG_BACKEND',
      key: `runner.${runner.name}.class`,
      message,
      place: placeOf(source, path, 'value'),
      fix: setFix(source, path, 'local_cluster_train'),
    },
  ]
}

function phaseProblems(phase: PhaseV1, { config, source }: Context): ConfigProblem[] {
  const dataset = config.dataset.find(({ name }) => name === phase.dataset_name)!
  const modelPath = ['phase', config.phase.indexOf(phase), 'model']
  const datasetPath = ['dataset', config.dataset.indexOf(dataset)]
  const at = (path: Path, key: string, message: string, instead?: string): ConfigProblem => ({
    code: 'CONFIG_PATH',
    key,
    message,
    guess: instead,
    place: placeOf(source, path, 'value'),
    fix:
      instead === undefined
        ? { kind: 'advice', text: ADVICE[String(path.at(-1)) as keyof typeof ADVICE] }
        : setFix(source, path, written(instead, config)),
  })
  return [
    ...modelProblem(phase, (message, instead) => at(modelPath, `phase.${phase.name}.model`, message, instead)),
    ...dataProblem(dataset, (message, instead) =>
      at([...datasetPath, 'data_path'], `dataset.${dataset.name}.data_path`, message, instead),
    ),
    ...readerProblem(dataset, (message) =>
      at([...datasetPath, 'data_converter'], `dataset.${dataset.name}.data_converter`, message),
    ),
  ]
}

/** A problem of a config at a key of it. */
export const problemIn = (
  source: LoadedRunConfig['source'],
  path: Path,
  key: string,
  message: string,
): ConfigProblem => ({
  code: 'CONFIG_PATH',
  key,
  message,
  place: placeOf(source, path, 'value'),
  fix: { kind: 'advice', text: ADVICE.model },
})

const ADVICE = {
  model:
    'write the model in TypeScript as model.ts in that folder (see docs/reference/config-v1.md), or name another file',
  data_path: 'name a folder that exists; a path is relative to the working folder, {workspace} to the workspace',
  data_converter: 'write the reader in TypeScript beside it, or give sparse_slots and dense_slots',
} as const

type Say = (message: string, instead?: string) => ConfigProblem

function modelProblem({ model }: PhaseV1, say: Say): ConfigProblem[] {
  if (modelFileV1(model)) return []
  const folder = dirname(model)
  if (!existsSync(folder)) {
    const near = nearestFolder(folder)
    return [
      say(
        `no such folder: ${folder}`,
        near && modelFileV1(join(near, 'model.py')) ? join(near, basename(model)) : undefined,
      ),
    ]
  }
  const python = existsSync(model) && model.endsWith('.py')
  const near = suggest(
    `${stem(basename(model))}.ts`,
    readdirSync(folder).filter((file) => file.endsWith('.ts')),
  )
  const ts = `${stem(basename(model))}.ts`
  const message = python
    ? `${model} is Python, and there is neither ${ts} nor static_model.ts beside it`
    : `no such model: neither ${ts} nor static_model.ts is in ${folder}`
  return [say(message, near && join(folder, near))]
}

function dataProblem({ data_path }: DatasetV1, say: Say): ConfigProblem[] {
  if (isRemote(data_path) || (existsSync(data_path) && statSync(data_path).isDirectory())) return []
  if (existsSync(data_path)) return [say(`expected a folder, got the file ${data_path}`, dirname(data_path))]
  return [say(`no such folder: ${data_path}`, nearestFolder(data_path))]
}

function readerProblem(dataset: DatasetV1, say: Say): ConfigProblem[] {
  const { data_converter } = dataset
  if (data_converter === undefined || readsSlots(dataset) || readerFile(resolve('/'), data_converter)) return []
  return [say(`no such reader: ${stem(data_converter)}.ts`)]
}

/** Slots are given, so the built-in reader reads them and the converter is not used. */
export const readsSlots = ({ slots }: DatasetV1): boolean => slots.sparse.length + slots.dense.length > 0

/** A path as the yaml would have it. */
function written(path: string, { workspace, cwd }: RunConfig): string {
  const below = relative(workspace, path)
  if (!below.startsWith('..')) return below === '' ? '{workspace}' : `{workspace}/${below}`
  return relative(cwd, path).startsWith('..') ? path : relative(cwd, path)
}
