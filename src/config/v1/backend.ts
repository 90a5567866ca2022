/** @file backend.yaml: where a job is submitted to. Read and recognised here; submitting is not part of this build. */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { free, text } from '../option.ts'
import { isRecord } from '../override.ts'
import { ConfigError } from '../problem.ts'
import { duplicateKeys, readSource } from '../source.ts'
import { syntaxProblem } from '../syntax.ts'
import { check } from '../validate.ts'

export const BACKENDS = ['PaddleCloud', 'Kubernetes'] as const
export const CLUSTER_TYPES = ['mpi', 'k8s'] as const

export const backendV1 = z.strictObject({
  backend: z.enum(BACKENDS).meta({
    description: 'Where jobs are submitted to.',
    example: 'PaddleCloud',
    aliases: {
      paddlecloud: 'PaddleCloud',
      PADDLECLOUD: 'PaddleCloud',
      kubernetes: 'Kubernetes',
      KUBERNETES: 'Kubernetes',
    },
  }),
  cluster_type: z.enum(CLUSTER_TYPES).meta({
    description: 'The kind of cluster.',
    example: 'mpi',
    aliases: { MPI: 'mpi', Mpi: 'mpi', K8S: 'k8s', K8s: 'k8s' },
  }),
  config: free('File system, data and communication of the job.'),
  submit: free('Name, resources and files of the job.'),
  name: text('', 'Kept as it is.'),
})
export type Backend = z.infer<typeof backendV1>

export interface LoadedBackend {
  readonly backend: Backend
  /** Keys written twice. */
  readonly warnings: readonly string[]
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
  const written: unknown = source.document.toJS()
  const data = isRecord(written) ? written : {}
  const { value, problems } = check<Backend>({ schema: backendV1, data, source, base: [] })
  if (!value) throw new ConfigError(problems, source)
  return { backend: value, warnings: duplicateKeys(source) }
}
