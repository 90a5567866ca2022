/** @file The client of a job server: what can be asked of it, and how a job and its files get there. */
import { createReadStream, statSync } from 'node:fs'
import { text as readText } from 'node:stream/consumers'
import { defined, type UserError } from '../../base/util/index.ts'
import type { LogSelection } from '../agent/index.ts'
import type { AnnouncedFile, JobRequest } from '../executors/index.ts'
import type { JobStatus } from '../submit/index.ts'
import { filterQuery, type JobFilter } from './listing.ts'
import { EMPTY_HASH, hashOf, type Keys } from './sign.ts'
import { type Account, send } from './signed-request.ts'
import type { CloudJob } from './store.ts'
import { hashOfFile } from './upload.ts'

export interface CloudClient {
  /** Creates the job, uploads its files and queues it. What goes wrong on the way leaves nothing behind. */
  submit(job: Submission): Promise<Submitted>
  list(limit?: number, filter?: JobFilter): Promise<JobList>
  info(id: string): Promise<JobSummary>
  stop(id: string): Promise<JobSummary>
  logs(id: string, options: LogQuery): AsyncIterable<string>
  /** Whose keys these are. */
  whoAmI(): Promise<UserDescription>
  /** New keys in place of these, which are worth nothing from then on. */
  rotate(): Promise<Keys>
}

export interface UserDescription {
  readonly name: string
  readonly ak: string
  readonly admin: boolean
  readonly uid?: number
  readonly groups: readonly {
    readonly name: string
    readonly quota?: number
    readonly priorities?: readonly string[]
  }[]
}

export interface Submission {
  readonly request: Omit<JobRequest, 'files'>
  readonly files: readonly { readonly name: string; readonly path: string }[]
  readonly fsUgi?: string | undefined
  /** Called after the server has checked the job, before files are sent. */
  readonly onAdmitted?: () => void
  readonly onUploaded?: (name: string, bytes: number) => void
  /** Bytes that went out, of those of all files. What a broken connection lost counts when it goes out again. */
  readonly onProgress?: ((sent: number, of: number) => void) | undefined
}

export interface Submitted {
  readonly groupName: string
  readonly jobId: string
  readonly userId: string
}

export interface LogQuery extends LogSelection {
  readonly follow?: boolean | undefined
}

export interface JobSummary
  extends Pick<CloudJob, 'phase' | 'reason' | 'submittedAt' | 'changedAt'>,
    Pick<JobRequest, 'name' | 'group' | 'priority' | 'kind' | 'permission' | 'wallSeconds' | 'version' | 'remark'> {
  readonly jobId: string
  /** Of jobs of a server. */
  readonly user?: string | undefined
  /** Of jobs on Kubernetes. */
  readonly processes?: JobStatus['processes']
  readonly restarts?: JobStatus['restarts']
}

export interface JobList {
  readonly total: number
  readonly jobs: readonly JobSummary[]
}

export function cloudClient(server: string, keys: Keys): CloudClient {
  const account = { server, keys }
  return {
    submit: async (job) => await submit(account, job),
    list: async (limit = 100, filter = {}) => {
      const query = new URLSearchParams(defined({ limit: String(limit), ...filterQuery(filter) }))
      return await call(account, 'GET', `/v1/jobs?${query}`)
    },
    whoAmI: async () => await call(account, 'GET', '/v1/users/me'),
    rotate: async () => await call(account, 'POST', '/v1/users/rotate'),
    info: async (id) => await call(account, 'GET', `/v1/jobs/${id}`),
    stop: async (id) => await call(account, 'POST', `/v1/jobs/${id}/stop`),
    logs: async function* (id, { role, rank, follow }) {
      const asked = { role, rank: rank?.toString(), follow: follow ? '1' : undefined }
      const path = `/v1/jobs/${id}/logs?${new URLSearchParams(defined(asked))}`
      const response = await send(account, { method: 'GET', path, hash: EMPTY_HASH })
      response.setEncoding('utf8')
      for await (const text of response) yield text as string
    },
  }
}

async function call<T>(account: Account, method: string, path: string, body?: unknown): Promise<T> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const response = await send(account, { method, path, hash: hashOf(text), body: text })
  return JSON.parse(await readText(response)) as T
}

async function submit(account: Account, job: Submission): Promise<Submitted> {
  const { request, files, fsUgi, onAdmitted } = job
  // Sizes first: what is too large is refused before it is read to its end.
  const sized = files.map(({ name, path }) => ({ name, bytes: statSync(path).size, sha256: EMPTY_HASH }))
  await call(account, 'POST', '/v1/checks', { ...request, files: sized })
  const announced = await Promise.all(
    sized.map(async (file, i) => ({ ...file, sha256: await hashOfFile(files[i]!.path) })),
  )
  const submitted = await call<Submitted>(account, 'POST', '/v1/jobs', { ...request, files: announced, fsUgi })
  try {
    onAdmitted?.()
    await uploadAll(account, submitted.jobId, announced, job)
    await call(account, 'POST', `/v1/jobs/${submitted.jobId}/ready`)
  } catch (error) {
    await call(account, 'POST', `/v1/jobs/${submitted.jobId}/stop`).catch(() => undefined) // the server takes it back itself when it is gone
    throw error
  }
  return submitted
}

async function uploadAll(account: Account, id: string, announced: readonly AnnouncedFile[], job: Submission) {
  const all = announced.reduce((sum, { bytes }) => sum + bytes, 0)
  let before = 0
  for (const [i, file] of announced.entries()) {
    await upload(account, id, file, job.files[i]!.path, (sent) => job.onProgress?.(before + sent, all))
    before += file.bytes
    job.onUploaded?.(file.name, file.bytes)
  }
}

const ATTEMPTS = 4
const FIRST_WAIT_MS = 300

/** A connection that breaks is made again, and the file goes on behind what the server has. */
async function upload(
  account: Account,
  id: string,
  { name, bytes, sha256 }: AnnouncedFile,
  file: string,
  onSent: (bytes: number) => void,
): Promise<void> {
  const path = `/v1/jobs/${id}/files/${encodeURIComponent(name)}`
  for (let [from, attempt] = [0, 1]; ; attempt++) {
    const [body, rest] = [createReadStream(file, { start: from }), bytes - from]
    let sent = from
    const report = (chunk: Buffer | string) => {
      sent += chunk.length
      onSent(sent)
    }
    try {
      // `send` pipes at once, so nothing flows before the request takes it too.
      body.on('data', report)
      const put = { method: 'PUT', path: `${path}?from=${from}`, hash: sha256, body, bytes: rest }
      return void (await readText(await send(account, put)))
    } catch (error) {
      body.destroy()
      if ((error as UserError).code !== 'CLOUD_UNREACHABLE' || attempt === ATTEMPTS) throw error
      await new Promise((done) => setTimeout(done, FIRST_WAIT_MS * 2 ** (attempt - 1)))
      from = (await call<{ received: number }>(account, 'GET', path)).received
      if (from === bytes) return
    }
  }
}
