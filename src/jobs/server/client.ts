/** @file The client of a job server: signed requests, uploads, and errors that say what the server said. */
import { createReadStream, statSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import { defined, UserError } from '../../base/util/index.ts'
import type { LogSelection } from '../agent/index.ts'
import type { AnnouncedFile, JobRequest } from '../executors/index.ts'
import type { JobStatus } from '../submit/index.ts'
import { filterQuery, type JobFilter } from './listing.ts'
import { EMPTY_HASH, hashOf, type Keys, sign } from './sign.ts'
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
  const call = async <T>(method: string, path: string, body?: unknown) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const response = await send({ server, keys, method, path, hash: hashOf(text), body: text })
    return JSON.parse(await readText(response)) as T
  }
  /** A connection that breaks is made again, and the file goes on behind what the server has. */
  const upload = async (
    id: string,
    { name, bytes, sha256 }: AnnouncedFile,
    file: string,
    onSent: (bytes: number) => void,
  ) => {
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
        const put = { server, keys, method: 'PUT', path: `${path}?from=${from}`, hash: sha256, body, bytes: rest }
        return void (await readText(await send(put)))
      } catch (error) {
        body.destroy()
        if ((error as UserError).code !== 'CLOUD_UNREACHABLE' || attempt === ATTEMPTS) throw error
        await new Promise((done) => setTimeout(done, FIRST_WAIT_MS * 2 ** (attempt - 1)))
        from = (await call<{ received: number }>('GET', path)).received
        if (from === bytes) return
      }
    }
  }
  return {
    submit: async ({ request, files, fsUgi, onAdmitted, onUploaded, onProgress }) => {
      // Sizes first: what is too large is refused before it is read to its end.
      const sized = files.map(({ name, path }) => ({ name, bytes: statSync(path).size, sha256: EMPTY_HASH }))
      await call('POST', '/v1/checks', { ...request, files: sized })
      const announced = await Promise.all(
        sized.map(async (file, i) => ({ ...file, sha256: await hashOfFile(files[i]!.path) })),
      )
      const job = await call<Submitted>('POST', '/v1/jobs', { ...request, files: announced, fsUgi })
      try {
        onAdmitted?.()
        const all = announced.reduce((sum, { bytes }) => sum + bytes, 0)
        let before = 0
        for (const [i, file] of announced.entries()) {
          await upload(job.jobId, file, files[i]!.path, (sent) => onProgress?.(before + sent, all))
          before += file.bytes
          onUploaded?.(file.name, file.bytes)
        }
        await call('POST', `/v1/jobs/${job.jobId}/ready`)
      } catch (error) {
        await call('POST', `/v1/jobs/${job.jobId}/stop`).catch(() => undefined) // the server takes it back itself when it is gone
        throw error
      }
      return job
    },
    list: async (limit = 100, filter = {}) => {
      const query = new URLSearchParams(defined({ limit: String(limit), ...filterQuery(filter) }))
      return await call('GET', `/v1/jobs?${query}`)
    },
    whoAmI: async () => await call('GET', '/v1/users/me'),
    rotate: async () => await call('POST', '/v1/users/rotate'),
    info: async (id) => await call('GET', `/v1/jobs/${id}`),
    stop: async (id) => await call('POST', `/v1/jobs/${id}/stop`),
    logs: async function* (id, { role, rank, follow }) {
      const asked = { role, rank: rank?.toString(), follow: follow ? '1' : undefined }
      const path = `/v1/jobs/${id}/logs?${new URLSearchParams(defined(asked))}`
      const response = await send({ server, keys, method: 'GET', path, hash: EMPTY_HASH })
      response.setEncoding('utf8')
      for await (const text of response) yield text as string
    },
  }
}

interface Sent {
  readonly server: string
  readonly keys: Keys
  readonly method: string
  readonly path: string
  readonly hash: string
  readonly body?: string | NodeJS.ReadableStream
  readonly bytes?: number
}

const TIMEOUT_MS = 60_000
const ATTEMPTS = 4
const FIRST_WAIT_MS = 300

function send({ server, keys, method, path, hash, body, bytes }: Sent): Promise<IncomingMessage> {
  const url = new URL(path, server)
  const signed = sign({ method, path: `${url.pathname}${url.search}`, hash }, keys)
  const headers = defined({ ...signed, 'content-length': bytes?.toString() })
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((done, fail) => {
    const request = start(url, { method, headers, timeout: TIMEOUT_MS }, (response) => {
      if ((response.statusCode ?? 500) < 300) done(response)
      else readText(response).then((text) => fail(refusedError(response.statusCode!, text)), fail)
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)))
    request.on('error', (error: NodeJS.ErrnoException) => fail(unreachable(server, error)))
    if (body === undefined || typeof body === 'string') request.end(body ?? '')
    else body.on('error', (error) => request.destroy(error)).pipe(request)
  })
}

function refusedError(status: number, text: string): UserError {
  try {
    const { error, hint } = JSON.parse(text) as { error: string; hint: string }
    return new UserError(error, { code: 'CLOUD_REFUSED', hint })
  } catch {
    return new UserError(`The server answered ${status}: ${text.slice(0, 200)}`, {
      code: 'CLOUD_REFUSED',
      hint: 'What answers there is no job server of Oarfish.',
    })
  }
}

function unreachable(server: string, error: NodeJS.ErrnoException): UserError {
  return new UserError(`The job server ${server} cannot be reached: ${error.message}.`, {
    code: 'CLOUD_UNREACHABLE',
    hint: `Start one with: oarfish cloud serve
Its address is submit.server of backend.yaml, else PADDLECLOUD_SERVER, else "server" in ~/.config/oarfish/cloud.yaml, else http://127.0.0.1:8180.`,
    cause: error,
  })
}
