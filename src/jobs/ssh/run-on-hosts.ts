/** @file What all jobs over ssh have in common: hosts opened and checked, a name, the files, the processes, and a note of it while it runs. */
import { randomUUID } from 'node:crypto'
import type { EventSink } from '../../base/event/index.ts'
import { aborted, MAX_RESTART } from '../launch/index.ts'
import { dispatch, type Manifest, manifestOf } from './dispatch.ts'
import type { SshHost } from './host.ts'
import { everyHost, type OpenHostsOptions, openHosts } from './open-hosts.ts'
import { claimName, endRecord, type JobEnd, writeRecord } from './record.ts'
import type { RemoteHost } from './remote-host.ts'
import { type JobProcess, type RunJobOptions, runJob } from './run-job.ts'

/** Exactly one of two ways to the files: dispatched from a folder here, or there already. */
export type Workspace = { readonly kind: 'dispatch' | 'there'; readonly folder: string }

export interface HostsJobOptions extends OpenHostsOptions {
  readonly files: Workspace
  /** Where jobs of this user are noted. */
  readonly records: string
  readonly now: Date
  readonly signal: AbortSignal
  readonly stopMs: number
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
}

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
  let lost = false
  for (const host of all)
    void host.lost.then(() => {
      lost = true
    })
  try {
    const addresses = await job.check(all, manifest)
    const name = claimName(records, options.now)
    const root = job.root(all)
    const folder = manifest ? `${root}/${name}` : files.folder
    writeRecord(records, name, { hosts, folder })
    let end: Omit<JobEnd, 'at'> = { phase: 'stopped' }
    const { emit, failure } = firstFailure(options.emit)
    try {
      const message = `${name}: ${all.length} hosts, ${folder} on each; oarfish stop ${name} ends it`
      emit({ kind: 'notice', message })
      const prepare = async () => {
        if (manifest) await dispatch({ hosts: all, from: files.folder, manifest, root, folder, emit })
        const numbered = (node: number) => (job.hasNodefile ? node : undefined)
        await everyHost(all.map(async (host, node) => await host.ask('open', { folder, node: numbered(node) })))
        return await job.processes(all, addresses)
      }
      const processes = await unlessAborted(signal, prepare())
      if (processes === undefined) return undefined
      const common = { ...options, emit, job: name, folder, libraryPath: job.libraryPath }
      const code = await runStarts(common, processes, () => lost)
      end = endOf(code, failure())
      const place = [folder, job.output].filter(Boolean).join('/')
      if (code === 0)
        emit({ kind: 'notice', message: `${name} is done; its models are in ${all[0]!.host.name}:${place}` })
      return code
    } catch (error) {
      end = { phase: 'failed', reason: (error as Error).message }
      throw error
    } finally {
      // On a host that was lost something may still run: `oarfish stop` is to find it.
      if (!lost) endRecord(records, name, { ...end, at: Date.now() })
    }
  } finally {
    await close()
  }
}

const SIGNALS = 128
/** Training that saves itself inside epochs, and goes on from there when it is started again under its name. */
const MAKES_CUTS = /\boarfish (train|tool (static_|static_ps_)?trainer)\b/

/** The job over all its starts: one of its processes was killed, which it would not do by itself again. */
async function runStarts(
  options: Omit<RunJobOptions, 'processes'>,
  processes: readonly JobProcess[],
  isLost: () => boolean,
): Promise<number | undefined> {
  const uid = randomUUID()
  const start = (number: number) => {
    const env = { OARFISH_JOB_UID: uid, ...(number > 0 ? { OARFISH_RESTART: String(number) } : {}) }
    return runJob({ ...options, processes: processes.map((each) => ({ ...each, env: { ...each.env, ...env } })) })
  }
  const goesOn = processes.every(({ command }) => MAKES_CUTS.test(command.join(' ')))
  for (let restart = 0; ; restart++) {
    const code = await start(restart)
    const isKilled = code !== undefined && code > SIGNALS
    if (!isKilled || !goesOn || isLost() || options.signal.aborted || restart === MAX_RESTART) return code
    const message = `Starting again from the last cut, or the beginning where there is none: ${restart + 1} of ${MAX_RESTART} times.`
    options.emit({ kind: 'notice', message })
  }
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
  return { emit, failure: () => failure }
}

/** Undefined when the signal comes first; the work then ends with the connections. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, aborted(signal).then(() => undefined)])
}
