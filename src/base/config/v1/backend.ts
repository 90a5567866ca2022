/** @file backend.yaml: where a job is submitted to. Parsed here; whether a runner can be submitted with it says backend-check.ts. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined } from '../../util/index.ts'
import { replaceValue } from '../edit.ts'
import { sourceOf, yamlTextOf } from '../open-source.ts'
import { isRecord } from '../override.ts'
import { ConfigError } from '../problem.ts'
import { type DeepReadonly, deepFreeze } from '../resolve.ts'
import { type ConfigSource, duplicateKeys, findNode, valuesOf } from '../source.ts'
import { syntaxProblem } from '../syntax.ts'
import { check } from '../validate.ts'
import { BACKENDS, type BackendName, backendV1, type ClusterType, type UserBackend } from './backend-schema.ts'

export type Backend = DeepReadonly<Omit<UserBackend, 'cluster_type'>> & { readonly cluster_type: ClusterType }

export interface LoadedBackend {
  readonly backend: Backend
  /** Keys written twice. */
  readonly warnings: readonly string[]
  /** Places what is found later, with a runner beside it. */
  readonly source: ConfigSource
}

export function loadBackend(path: string, cwd: string = process.cwd()): LoadedBackend {
  const absolute = resolve(cwd, path)
  if (existsSync(absolute)) return parseBackend(path, yamlTextOf(path, absolute))
  throw new ConfigError(
    [
      {
        code: 'CONFIG_NOT_FOUND',
        key: '',
        message: 'no such file',
        place: { kind: 'none' },
        fix: { kind: 'advice', text: `create ${path}, or name a backend.yaml that exists with -b` },
      },
    ],
    { file: path, text: '' },
  )
}

export const parseBackend = (file: string, yaml: string): LoadedBackend =>
  checkedBackend(sourceOf(file, yaml.replace(/^\uFEFF/, '')))

/** What parseBackend does once the text was read. */
export function checkedBackend(source: ConfigSource): LoadedBackend {
  const broken = syntaxProblem(source)
  if (broken) throw new ConfigError([broken], source)
  const data = normalized(valuesOf(source))
  const { value, problems } = check<UserBackend>({ schema: backendV1, data, source, base: [] })
  if (!value) throw new ConfigError(problems, source)
  const cluster_type = value.cluster_type ?? OWN_CLUSTER[value.backend]
  if (cluster_type) return { backend: deepFreeze({ ...value, cluster_type }), warnings: duplicateKeys(source), source }
  const missing = check({ schema: backendV1.required(), data, source, base: [] })
  throw new ConfigError(missing.problems, source)
}

/** PaddleCloud may stand for either; the others are what they are. */
const OWN_CLUSTER: Readonly<Record<BackendName, ClusterType | undefined>> = {
  PaddleCloud: undefined,
  MPI: 'mpi',
  Slurm: 'mpi',
  SSH: 'mpi',
  Kubernetes: 'k8s',
}

/** Capitals do not count in `backend` and `cluster_type`; the guide writes `k8s-cpu-cores`, the code reads `k8s_cpu_cores`. */
function normalized(written: unknown): Record<string, unknown> {
  if (!isRecord(written)) return {}
  const { backend, cluster_type, submit } = written
  const name = typeof backend === 'string' ? BACKENDS.find((known) => sameWord(known, backend)) : undefined
  return defined({
    ...written,
    backend: name ?? backend,
    cluster_type: typeof cluster_type === 'string' ? cluster_type.toLowerCase() : cluster_type,
    submit: isRecord(submit) ? underscored(submit) : submit,
  })
}

const sameWord = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

const underscored = (keys: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [key.startsWith('k8s-') ? key.replaceAll('-', '_') : key, value]),
  )

const SECRETS = [
  ['submit', 'ak'],
  ['submit', 'sk'],
  ['config', 'fs_ugi'],
] as const

/** With `OARFISH_AK`, `OARFISH_SK` and `OARFISH_FS_UGI` for what is not written. */
export function withSecretsOf(env: Readonly<Record<string, string | undefined>>, loaded: LoadedBackend): LoadedBackend {
  const { submit, config } = loaded.backend
  const backend: Backend = {
    ...loaded.backend,
    submit: { ...submit, ak: submit.ak || (env['OARFISH_AK'] ?? ''), sk: submit.sk || (env['OARFISH_SK'] ?? '') },
    config: { ...config, fs_ugi: config.fs_ugi || (env['OARFISH_FS_UGI'] ?? '') },
  }
  return { ...loaded, backend: deepFreeze(backend) }
}

/** The text with `instead` wherever a secret stands; all else, comments included, as it was. */
export function withoutSecrets({ source }: LoadedBackend, instead: string): string {
  return SECRETS.filter((path) => String(findNode(source, path) ?? '').trim() !== '')
    .flatMap((path) => replaceValue(source, path, instead))
    .sort((a, b) => b.from - a.from)
    .reduce((text, { from, to, text: inserted }) => text.slice(0, from) + inserted + text.slice(to), source.text)
}
