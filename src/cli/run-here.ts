/** @file A job without a server: run by the command that would have submitted it, its logs on the screen until it is over. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ConfigIni, JobRequest } from '../cloud/index.ts'
import { UserError } from '../util/index.ts'
import type { ClientOptions } from './cloud-client.ts'
import { ExitCode } from './exit.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { oneOf } from './options.ts'
import { credentialsFile, environment } from './submit.ts'

export interface PreparedJob {
  readonly request: Omit<JobRequest, 'files'>
  readonly files: readonly { readonly name: string; readonly path: string }[]
  readonly ini: ConfigIni
}

export interface HereFlags {
  readonly executor?: string
  readonly hostfile?: string
}

export async function runHere(
  { request, files, ini }: PreparedJob,
  flags: HereFlags,
  { profile }: ClientOptions,
  io: CliIo,
) {
  const { EXECUTOR_NAMES, followOutcome, jobFolder, readOutcome, superviseCloudJob, writeRequest } = await import(
    '../cloud/index.ts'
  )
  const { findCredentials, referred } = await import('../submit/index.ts')
  const executor = oneOf('--executor', EXECUTOR_NAMES, flags.executor ?? 'mpi')
  const id = `job-${randomBytes(8).toString('hex')}`
  const folder = join(io.env['XDG_DATA_HOME'] ?? join(homedir(), '.local/share'), 'oarfish', 'jobs', id)
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
  io.out.write(`Congratulations! Job configuration check passed!\n${id}: its logs are in ${jobFolder(folder).logs}\n`)
  const env = { ...environment(io.env), OARFISH_JOB_ID: id, ...(fsUgi !== undefined && { OARFISH_FS_UGI: fsUgi }) }
  const hostfile = flags.hostfile === undefined ? undefined : resolve(flags.hostfile)
  const message = 'Stopping the job; Ctrl+C again leaves at once.\n'
  const hooks = { onStopping: () => void io.err.write(message), onLeaving: () => undefined }
  await untilInterrupted(io, hooks, async (signal) => {
    const running = superviseCloudJob({ folder, executor, hostfile, env, signal })
    for await (const text of followOutcome(folder)) io.out.write(text)
    await running
  })
  const { phase, reason = 'see its logs' } = readOutcome(folder)!
  if (phase === 'succeeded') return void io.out.write(`${id} succeeded\n`)
  io.err.write(`${id} ${phase}: ${reason}\n`)
  throw phase === 'failed'
    ? new UserError(`The job failed.`, { code: 'SUBMIT_FAILED', hint: `Its logs are in ${jobFolder(folder).logs}` })
    : new ExitCode(1)
}
