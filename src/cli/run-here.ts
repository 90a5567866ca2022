/**
 * @file A job without a server: run by the command that would have submitted it, its logs on the screen until it is over. One for a cluster
 * that needs nobody afterwards is handed over, and followed by a process in the background that keeps its logs.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { defined, isUserError, UserError } from '../base/util/index.ts'
import type { ExecutorName } from '../jobs/executors/index.ts'
import type { ConfigIni, DescribedJob } from '../jobs/submit/index.ts'
import type { ClientOptions } from './cloud-client.ts'
import { ExitCode, Interrupted, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { localJobs, startFollower } from './local-jobs.ts'
import { oneOf } from './options.ts'
import { credentialsFile, environment, packageVersion } from './user-places.ts'

export interface PreparedJob {
  readonly request: DescribedJob
  readonly files: readonly { readonly name: string; readonly path: string }[]
  readonly ini: ConfigIni
}

export interface HereFlags {
  readonly executor?: string | undefined
  readonly hostfile?: string | undefined
  readonly force?: boolean | undefined
  /** Print the ids of the job as JSON. */
  readonly json?: boolean | undefined
}

export async function runHere(prepared: PreparedJob, flags: HereFlags, options: ClientOptions, io: CliIo) {
  const { EXECUTOR_NAMES, executorOf } = await import('../jobs/executors/index.ts')
  const executor = oneOf('--executor', EXECUTOR_NAMES, flags.executor ?? 'mpi')
  const staged = await stage(prepared, options, io)
  if (executorOf(executor).submit) return await handOver(executor, staged, flags, io)
  await runStaged(staged, { ...flags, executor }, io)
}

/** In the form that the job server's answer is printed in. */
export function idsText(ids: object, { json = false }: Pick<HereFlags, 'json'>): string {
  const lines = Object.entries(ids).map(([name, value]) => `${name}: ${value}\n`)
  return json ? `${JSON.stringify(ids, undefined, 4)}\n` : lines.join('')
}

/** A job in a folder of its own, as its supervisor finds it. */
interface Staged {
  readonly id: string
  readonly folder: string
  /** Of its processes, or of its supervisor; a secret is only here. */
  readonly env: NodeJS.ProcessEnv
}

async function stage({ request, files, ini }: PreparedJob, { profile }: ClientOptions, io: CliIo): Promise<Staged> {
  const { jobFolder, writeRequest } = await import('../jobs/executors/index.ts')
  const { findCredentials, referred } = await import('../jobs/submit/index.ts')
  const id = `job-${randomBytes(8).toString('hex')}`
  const folder = join(localJobs(io.env), id)
  const named = referred(ini.fsUgi)
  const kept =
    named === undefined ? { fs_ugi: ini.fsUgi } : await findCredentials(credentialsFile(io.env), profile ?? named)
  const { carriedUgi } = await import('../base/fs/index.ts')
  const fsUgi = await carriedUgi(request.data.fileSystem, io.env['OARFISH_FS_UGI'] ?? kept.fs_ugi)
  mkdirSync(jobFolder(folder).files, { recursive: true })
  for (const { name, path } of files) copyFileSync(path, join(jobFolder(folder).files, name))
  writeRequest(folder, {
    ...request,
    files: files.map(({ name, path }) => ({ name, bytes: statSync(path).size, sha256: '' })),
  })
  const env = { ...environment(io.env), OARFISH_JOB_ID: id, ...defined({ OARFISH_FS_UGI: fsUgi }) }
  return { id, folder, env }
}

async function runStaged(
  { id, folder, env }: Staged,
  { executor, hostfile, json }: HereFlags & { readonly executor: ExecutorName },
  io: CliIo,
) {
  const { followOutcome, jobFolder, jobOfFolder, readOutcome } = await import('../jobs/executors/index.ts')
  const { superviseCloudJob } = await import('../jobs/server/index.ts')
  const hosts = hostfile === undefined ? undefined : resolve(hostfile)
  const message = 'Stopping the job; Ctrl+C again leaves at once.\n'
  const hooks = { onStopping: () => void io.err.write(message), onLeaving: () => undefined }
  const version = packageVersion()
  await untilInterrupted(io, hooks, async (signal) => {
    // Not before: who reads it may press Ctrl+C at once.
    io.out.write(`Congratulations! Job configuration check passed!\n${id}: its logs are in ${jobFolder(folder).logs}\n`)
    const { group, name } = jobOfFolder(folder)
    if (json) io.out.write(idsText({ groupName: group, jobId: id, jobName: name }, { json }))
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

async function handOver(
  name: ExecutorName,
  { id, folder, env }: Staged,
  { force = false, json }: HereFlags,
  io: CliIo,
) {
  const { executorOf, jobOfFolder, planJob } = await import('../jobs/executors/index.ts')
  const say = (line: string) => void io.out.write(`${line}\n`)
  const target = { job: jobOfFolder(folder), folder }
  try {
    const plan = await planJob(name, target, { env, version: packageVersion() })
    const submit = async (replace: boolean) => await executorOf(name).submit!(plan, { ...target, env, replace, say })
    await submit(force || io.env['OARFISH_FORCE'] === '1').catch(async (error: unknown) => {
      if (!isUserError(error) || error.code !== 'KUBE_EXISTS' || !io.isInteractive) throw error
      if (!(await confirmed(`${error.message} Delete it and submit this one? [y/N] `, io))) throw error
      await submit(true)
    })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true }) // nothing runs, so there is nothing to look at later
    throw error
  }
  await startFollower(name, folder, env)
  say('Congratulations! Job configuration check passed!')
  say('Congratulations! The new job is ready for training.')
  const { group, name: jobName } = target.job
  io.out.write(idsText({ groupName: group, jobId: id, jobName }, { json }))
  say(`Follow it with: oarfish logs ${id} -f`)
}

async function confirmed(question: string, io: CliIo): Promise<boolean> {
  io.out.write(question)
  for await (const line of createInterface({ input: Readable.from(io.input()) })) return /^y(es)?$/i.test(line.trim())
  return false
}
