/** @file `oarfish run -b backend.yaml`: check, prepare and submit. */
import { resolve } from 'node:path'
import type { Backend } from '../base/config/index.ts'
import { defined, UserError } from '../base/util/index.ts'
import type { Job, Prepared } from '../jobs/submit/index.ts'
import { serverOf } from './cloud-client.ts'
import { Interrupted } from './interrupt.ts'
import type { CliIo, StopSignal } from './io.ts'
import { credentialsFile, environment, packageVersion } from './user-places.ts'

export interface SubmitRun {
  readonly model: string
  readonly backend: string
  readonly dryRun: boolean
  /** Replace a job of the same name. */
  readonly force: boolean
}

export async function submitRun({ model, backend: backendFile, dryRun, force }: SubmitRun, io: CliIo): Promise<void> {
  const { loadBackend, loadRunConfig, withSecretsOf } = await import('../base/config/index.ts')
  const { checkData, describePlan, prepare, submit } = await import('../jobs/submit/index.ts')
  const [config, backend] = [loadRunConfig({ path: model }), withSecretsOf(io.env, loadBackend(backendFile))]
  if (force && backend.backend.backend !== 'Kubernetes')
    throw new UserError(`--force is for backend: Kubernetes; this is ${backend.backend.backend}.`, {
      code: 'CLI_OPTION',
      hint: 'Leave it out: only there does a job of the same name stand in the way.',
    })
  const cwd = process.cwd()
  const data = dryRun ? NOT_LOOKED : await checkData(backend, await ugiOf(backend.backend, io))
  const now = new Date()
  const dataProblems = data.problems
  const prepared = prepare({ config, backend, backendFile, cwd, version: packageVersion(), now, dataProblems })
  const found = [...config.warnings, ...backend.warnings, ...data.warnings]
  const warnings = [...found, ...prepared.flatMap((one) => one.warnings)]
  for (const warning of new Set(warnings)) io.err.write(`${warning}\n`)
  for (const one of prepared) {
    if (dryRun) {
      const isYaml = backend.backend.backend === 'Kubernetes'
      const files = describePlan(one)
      io.out.write(isYaml ? `${asComment(files)}---\n` : files)
      const options = { backend: backend.backend, cwd, env: io.env, server: await serverOf(io.env) }
      io.out.write(await exactRequest(one, options))
      continue
    }
    const out = (text: string) => void io.out.write(text)
    const env = { ...environment(io.env), ...(force ? { OARFISH_FORCE: '1' } : {}) }
    let stoppedBy: StopSignal | undefined
    const onSignal = (listener: (signal: StopSignal) => void) =>
      io.onSignal((signal) => {
        stoppedBy = signal
        listener(signal)
      })
    const context = { cwd, credentialsFile: credentialsFile(io.env), env, out, onSignal }
    await submit(one, { ...context, isInteractive: io.isInteractive }).catch((error: unknown) => {
      throw stoppedBy ? new Interrupted(stoppedBy) : error
    })
  }
}

/** --dry-run touches nothing, not even the file system of the job. */
const NOT_LOOKED = { problems: [], warnings: [] }

async function ugiOf({ config }: Backend, io: CliIo): Promise<string | undefined> {
  const { findCredentials, referred } = await import('../jobs/submit/index.ts')
  const named = referred(config.fs_ugi)
  const kept =
    named === undefined
      ? config.fs_ugi
      : (await findCredentials(credentialsFile(io.env), named).catch(() => ({ fs_ugi: '' }))).fs_ugi
  return kept || io.env['OARFISH_FS_UGI']
}

/** For kubectl, which takes the whole of what --dry-run prints. */
const asComment = (text: string) => `${text.trimEnd().replaceAll(/^.*$/gm, (line) => `# ${line}`.trimEnd())}\n`

interface ExactOptions {
  readonly backend: Backend
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Of the job server, where backend.yaml names none. */
  readonly server: string
}

/** The plan that the executor would apply, or the request to the job server that would then make one. */
async function exactRequest(prepared: Prepared, options: ExactOptions): Promise<string> {
  const { backend, cwd, env } = options
  const { executorFor, sentJob } = await import('../jobs/submit/index.ts')
  const { planJob, printPlan } = await import('../jobs/executors/index.ts')
  const job = sentJob(prepared, cwd)
  const hasFsUgi = prepared.job.secrets.env.includes('fs_ugi')
  const executor = executorFor(backend.backend)
  if (executor === undefined) {
    const names = job.files.map(({ name }) => name).sort()
    return serverRequest(job, names, hasFsUgi, backend.submit.server ?? options.server)
  }
  const { hostfile } = backend.submit
  const plan = await planJob(
    executor,
    { job, folder: 'JOB' },
    {
      env: { ...environment(env), OARFISH_JOB_ID: 'JOB', ...defined({ OARFISH_FS_UGI: hasFsUgi ? '***' : undefined }) },
      version: packageVersion(),
      hostfile: hostfile === undefined ? undefined : resolve(cwd, hostfile),
    },
  )
  return printPlan(plan)
}

function serverRequest(
  { files: _files, secrets: _secrets, ...job }: Job,
  files: readonly string[],
  hasFsUgi: boolean,
  server: string,
): string {
  const body = { ...job, files, fsUgi: hasFsUgi ? '******' : undefined }
  return `POST ${server}/v1/jobs\n${JSON.stringify(body, undefined, 2)}\n`
}
