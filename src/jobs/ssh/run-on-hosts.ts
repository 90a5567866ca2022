/** @file What all jobs over ssh have in common: hosts opened and checked, a name, the files, the processes, and a note of it while it runs. */
import type { EventSink } from '../../base/event/index.ts'
import { quoted } from '../../base/util/index.ts'
import { aborted } from '../launch/index.ts'
import { dispatch, type Manifest, manifestOf } from './dispatch.ts'
import type { SshHost } from './host.ts'
import { HostKeeper } from './host-keeper.ts'
import { everyHost, type OpenHostsOptions, openHosts } from './open-hosts.ts'
import { claimName, endRecord, findRecord, type JobEnd, writeRecord } from './record.ts'
import type { RemoteHost } from './remote-host.ts'
import type { JobProcess } from './run-job.ts'
import { type GoingOn, runStarts } from './starts.ts'

/** Exactly one of two ways to the files: dispatched from a folder here, or there already. */
export type Workspace = { readonly kind: 'dispatch' | 'there'; readonly folder: string }

export interface HostsJobOptions extends OpenHostsOptions {
  readonly files: Workspace
  /** Where jobs of this user are noted. */
  readonly records: string
  readonly now: Date
  readonly signal: AbortSignal
  readonly stopMs: number
  /** Starts with nothing saved between them, after which the job ends. @default 3 */
  readonly maxRestart?: number | undefined
  /** How long a host that is gone may take to come back. @default 90 s */
  readonly awayMs?: number | undefined
}

export interface HostsJob {
  /** On the hosts: gets a folder for each dispatched job. */
  readonly root: (hosts: readonly RemoteHost[]) => string
  /** Throws with everything that is wrong; resolves to where the hosts are reached. */
  readonly check: (hosts: readonly RemoteHost[], manifest: Manifest | undefined) => Promise<readonly string[]>
  readonly processes: (hosts: readonly RemoteHost[], addresses: readonly string[]) => Promise<readonly JobProcess[]>
  /** The folder is a host's own: its logs are emptied, and `nodefile` says which node it is. */
  readonly hasNodefile: boolean
  readonly libraryPath: string
  /** Below the job's folder: what the job makes. */
  readonly output: string
  readonly goingOn: GoingOn
}

const AWAY_MS = 90_000
/** Of processes that an earlier start has left on a host that was away: nothing waits for what they know. */
const LEFT_STOP_MS = 3000

/** Resolves to the job's exit code, or undefined when it was asked to stop. */
export async function runOnHosts(
  hosts: readonly SshHost[],
  job: HostsJob,
  options: HostsJobOptions,
): Promise<number | undefined> {
  const { files, records, signal } = options
  const manifest = files.kind === 'dispatch' ? await manifestOf(files.folder) : undefined
  const opened = await unlessAborted(signal, openHosts(hosts, options))
  if (opened === undefined) return undefined
  const { all, close } = opened
  try {
    const addresses = await job.check(all, manifest)
    const name = claimName(records, options.now)
    const root = job.root(all)
    const folder = manifest ? `${root}/${name}` : files.folder
    writeRecord(records, name, { hosts, folder })
    let end: Omit<JobEnd, 'at'> = { phase: 'stopped' }
    const { emit, failure, forget } = firstFailure(options.emit)
    const place = { job: name, root, folder, files, manifest, isNumbered: job.hasNodefile, emit }
    const keeper = keeperOf(all, place, options)
    try {
      const message = `${name}: ${all.length} hosts, ${folder} on each; oarfish stop ${name} ends it`
      emit({ kind: 'notice', message })
      const prepare = async () => {
        await openFolders(all, place)
        return await job.processes(all, addresses)
      }
      const processes = await unlessAborted(signal, prepare())
      if (processes === undefined) return undefined
      const isStopped = () => findRecord(records, name)?.isStopping ?? false
      const own = { emit, job: name, folder, libraryPath: job.libraryPath, goingOn: job.goingOn, hosts: keeper }
      const code = await runStarts({ ...options, ...own, processes, isStopped, onStart: forget })
      end = endOf(code, failure())
      const models = [folder, job.output].filter(Boolean).join('/')
      if (code === 0)
        emit({ kind: 'notice', message: `${name} is done; its models are in ${all[0]!.host.name}:${models}` })
      return code
    } catch (error) {
      end = { phase: 'failed', reason: (error as Error).message }
      throw error
    } finally {
      // On a host that was lost something may still run: `oarfish stop` is to find it.
      if (keeper.lost().length === 0) endRecord(records, name, { ...end, at: Date.now() })
      await keeper.close()
    }
  } finally {
    await close()
  }
}

/** Where a job's files are, and how they come there. */
interface JobPlace {
  readonly job: string
  readonly root: string
  readonly folder: string
  readonly files: Workspace
  /** Of what is dispatched. */
  readonly manifest: Manifest | undefined
  readonly isNumbered: boolean
  readonly emit: EventSink
}

async function openFolders(
  hosts: readonly RemoteHost[],
  { root, folder, files, manifest, isNumbered, emit }: JobPlace,
  first = 0,
): Promise<void> {
  if (manifest) await dispatch({ hosts, from: files.folder, manifest, root, folder, emit })
  const open = async (host: RemoteHost, i: number) =>
    await host.ask('open', { folder, node: isNumbered ? first + i : undefined })
  await everyHost(hosts.map(open))
}

function keeperOf(hosts: readonly RemoteHost[], place: JobPlace, options: HostsJobOptions): HostKeeper {
  const { job, folder, manifest } = place
  const prepare = async (host: RemoteHost, node: number) => {
    for (const role of ['worker', 'server'] as const)
      await host.ask('stop', { job, folder, role, stopMs: LEFT_STOP_MS })
    // Its disk may be empty, or a shared one not be mounted yet.
    const isThere = (await host.channel.run(`test -d ${quoted(folder)}`)).code === 0
    if (isThere) return
    if (manifest)
      place.emit({ kind: 'warning', message: `${host.host.name} has no ${folder} any more: it is dispatched again.` })
    await openFolders([host], place, node)
  }
  return new HostKeeper(hosts, { ...options, awayMs: options.awayMs ?? AWAY_MS, emit: place.emit, prepare })
}

function endOf(code: number | undefined, failure: string | undefined): Omit<JobEnd, 'at'> {
  if (code === undefined) return { phase: 'stopped' }
  return code === 0 ? { phase: 'succeeded' } : { phase: 'failed', reason: failure ?? `exit code ${code}` }
}

/** Passes events on, and keeps the first error for who asks later. */
function firstFailure(sink: EventSink) {
  let failure: string | undefined
  const emit: EventSink = (event) => {
    if (event.kind === 'error') failure ??= [event.message, event.hint].filter(Boolean).join('\n')
    sink(event)
  }
  const forget = () => {
    failure = undefined
  }
  return { emit, failure: () => failure, forget }
}

/** Undefined when the signal comes first; the work then ends with the connections. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, aborted(signal).then(() => undefined)])
}
