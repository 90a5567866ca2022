/** @file A job without a server: run by the command that would have submitted it, its logs on the screen until it is over. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ConfigIni, JobRequest } from '../cloud/index.ts'
import { UserError } from '../util/index.ts'
import type { ClientOptions } from './cloud-client.ts'
import { ExitCode } from './exit.ts'
import { Interrupted, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { localJobs } from './local-jobs.ts'
import { oneOf } from './options.ts'
import { submitToKubernetes } from './run-kube.ts'
import { credentialsFile, environment } from './user-places.ts'
import { packageVersion } from './version.ts'

export interface PreparedJob {
  readonly request: Omit<JobRequest, 'files'>
  readonly files: readonly { readonly name: string; readonly path: string }[]
  readonly ini: ConfigIni
}

export interface HereFlags {
  readonly executor?: string
  readonly hostfile?: string
  readonly force?: boolean
}

export async function runHere(prepared: PreparedJob, flags: HereFlags, options: ClientOptions, io: CliIo) {
  const { EXECUTOR_NAMES } = await import('../cloud/index.ts')
  const executor = oneOf('--executor', EXECUTOR_NAMES, flags.executor ?? 'mpi')
  const staged = await stage(prepared, options, io)
  if (executor === 'kubernetes') return await submitToKubernetes(staged, prepared.request, flags.force ?? false, io)
  await runStaged(staged, { executor, hostfile: flags.hostfile }, io)
}

/** A job in a folder of its own, as its supervisor finds it. */
export interface Staged {
  readonly id: string
  readonly folder: string
  /** Of its processes, or of its supervisor; a secret is only here. */
  readonly env: NodeJS.ProcessEnv
}

async function stage({ request, files, ini }: PreparedJob, { profile }: ClientOptions, io: CliIo): Promise<Staged> {
  const { jobFolder, writeRequest } = await import('../cloud/index.ts')
  const { findCredentials, referred } = await import('../submit/index.ts')
  const id = `job-${randomBytes(8).toString('hex')}`
  const folder = join(localJobs(io.env), id)
  const named = referred(ini.fsUgi)
  const kept =
    named === undefined ? { fs_ugi: ini.fsUgi } : await findCredentials(credentialsFile(io.env), profile ?? named)
  const fsUgi = io.env['OARFISH_FS_UGI'] ?? kept.fs_ugi
  mkdirSync(jobFolder(folder).files, { recursive: true })
  for (const { name, path } of files) copyFileSync(path, join(jobFolder(folder).files, name))
  writeRequest(folder, {
    ...request,
    files: files.map(({ name, path }) => ({ name, bytes: statSync(path).size, sha256: '' })),
  })
  const env = { ...environment(io.env), OARFISH_JOB_ID: id, ...(fsUgi !== undefined && { OARFISH_FS_UGI: fsUgi }) }
  return { id, folder, env }
}

async function runStaged(
  { id, folder, env }: Staged,
  { executor, hostfile }: { executor: 'mpi' | 'slurm' | 'ssh' | 'local'; hostfile: string | undefined },
  io: CliIo,
) {
  const { followOutcome, jobFolder, readOutcome, superviseCloudJob } = await import('../cloud/index.ts')
  io.out.write(`Congratulations! Job configuration check passed!\n${id}: its logs are in ${jobFolder(folder).logs}\n`)
  const hosts = hostfile === undefined ? undefined : resolve(hostfile)
  const message = 'Stopping the job; Ctrl+C again leaves at once.\n'
  const hooks = { onStopping: () => void io.err.write(message), onLeaving: () => undefined }
  const version = packageVersion()
  await untilInterrupted(io, hooks, async (signal) => {
    const running = superviseCloudJob({ folder, executor, hostfile: hosts, version, env, signal })
    for await (const text of followOutcome(folder)) io.out.write(text)
    await running
  }).catch((error: unknown) => {
    if (error instanceof Interrupted) io.err.write(`${id} ${readOutcome(folder)?.phase ?? 'stopped'}\n`)
    throw error
  })
  const { phase, reason = 'see its logs' } = readOutcome(folder)!
  if (phase === 'succeeded') return void io.out.write(`${id} succeeded\n`)
  io.err.write(`${id} ${phase}: ${reason}\n`)
  throw phase === 'failed'
    ? new UserError(`The job failed.`, { code: 'SUBMIT_FAILED', hint: `Its logs are in ${jobFolder(folder).logs}` })
    : new ExitCode(1)
}
