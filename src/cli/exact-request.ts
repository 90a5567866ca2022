/** @file What a submission would ask of its cluster, to the letter: printed by --dry-run behind the files. Secrets are stars. */
import { basename, resolve } from 'node:path'
import type { Backend, BackendName } from '../config/index.ts'
import type { Prepared } from '../submit/index.ts'
import { packageVersion } from './version.ts'

export interface ExactOptions {
  readonly backend: Backend
  readonly cwd: string
  /** Of the job server, where backend.yaml names none. */
  readonly server: string
}

export async function exactRequest(prepared: Prepared, options: ExactOptions): Promise<string> {
  const render = REQUESTS[options.backend.backend]
  return render ? await render(prepared, options) : ''
}

type Render = (prepared: Prepared, options: ExactOptions) => Promise<string>

const REQUESTS: Partial<Readonly<Record<BackendName, Render>>> = {
  PaddleCloud: async ({ job, plan }, { backend, server }) => {
    const { parseConfigIni } = await import('../cloud/index.ts')
    const { files: taken, secrets, data: _data, env: _env, ...request } = job
    const { data, env } = parseConfigIni(textOf(plan, 'config.ini'), 'config.ini')
    const files = [...taken.map(({ name }) => name), ...sentFiles(plan).map(({ name }) => name)].sort()
    const body = { ...request, env, data, files, ...(secrets.env.includes('fs_ugi') && { fsUgi: '******' }) }
    return `POST ${backend.submit.server ?? server}/v1/jobs\n${JSON.stringify(body, undefined, 2)}\n`
  },
  MPI: async ({ job }, { backend, cwd }) => {
    const { mpirunWords, sizeOf } = await import('../cloud/index.ts')
    const { hostfile } = backend.submit
    const options = {
      nodes: sizeOf(job),
      hostfile: hostfile === undefined ? undefined : resolve(cwd, hostfile),
      variables: ['PATH', 'OARFISH_JOB_ID', ...(job.secrets.env.includes('fs_ugi') ? ['OARFISH_FS_UGI'] : [])],
      isRoot: process.getuid?.() === 0,
    }
    return `${mpirunWords({ ...options, command: ['oarfish', 'cloud', 'node'] }, 'openmpi').join(' ')}\n`
  },
  Slurm: async ({ job }) => {
    const { batchWords, sizeOf } = await import('../cloud/index.ts')
    return `sbatch ${batchWords({ name: job.name, nodes: sizeOf(job), folder: 'JOB' }).join(' ')}\n`
  },
  Kubernetes: async ({ job, plan }, { cwd }) => {
    const { renderOptions } = await import('../cloud/index.ts')
    const { manifestText, renderJob } = await import('../kube/index.ts')
    const taken = job.files.map((file) =>
      'path' in file.content ? { ...file, content: { path: resolve(cwd, file.content.path) } } : file,
    )
    const files = [...taken, ...sentFiles(plan)]
    return manifestText(renderJob(renderOptions({ ...job, files }, { env: {}, version: packageVersion() })))
  },
}

/** Files that job.sh sends beside those that were taken. */
const sentFiles = ({ files }: Prepared['plan']) =>
  files
    .map(({ path, text }) => ({ name: basename(path), content: { text } }))
    .filter(({ name }) => name.endsWith('_hook.sh') || name === 'config.ini')

const textOf = ({ files }: Prepared['plan'], name: string) => files.find(({ path }) => basename(path) === name)!.text
