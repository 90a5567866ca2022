/** @file backend.yaml: where a job is submitted to. Parsed here; whether a runner can be submitted with it says backend-check.ts. */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isRecord } from '../override.ts'
import { ConfigError } from '../problem.ts'
import { type DeepReadonly, deepFreeze } from '../resolve.ts'
import { type ConfigSource, duplicateKeys, readSource } from '../source.ts'
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
  if (existsSync(absolute)) return parseBackend(path, readFileSync(absolute, 'utf8'))
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

export function parseBackend(file: string, yaml: string): LoadedBackend {
  const source = readSource(file, yaml.replace(/^\uFEFF/, ''))
  const broken = syntaxProblem(source)
  if (broken) throw new ConfigError([broken], source)
  const data = normalized(source.document.toJS())
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
  return {
    ...written,
    ...(name && { backend: name }),
    ...(typeof cluster_type === 'string' && { cluster_type: cluster_type.toLowerCase() }),
    ...(isRecord(submit) && { submit: underscored(submit) }),
  }
}

const sameWord = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

const underscored = (keys: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [key.startsWith('k8s-') ? key.replaceAll('-', '_') : key, value]),
  )
