/** @file The client of a job server: signed requests, uploads, and errors that say what the server said. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import type { JobStatus } from '../submit/index.ts'
import { UserError } from '../util/index.ts'
import type { AnnouncedFile, CloudJob, JobRequest } from './jobs.ts'
import { EMPTY_HASH, hashOf, type Keys, sign } from './sign.ts'

export interface CloudClient {
  /** Creates the job, uploads its files and queues it. What goes wrong on the way leaves nothing behind. */
  submit(job: Submission): Promise<Submitted>
  list(limit?: number): Promise<JobList>
  info(id: string): Promise<JobSummary>
  stop(id: string): Promise<JobSummary>
  logs(id: string, options: LogQuery): AsyncIterable<string>
}

export interface Submission {
  readonly request: Omit<JobRequest, 'files'>
  readonly files: readonly { readonly name: string; readonly path: string }[]
  readonly fsUgi?: string | undefined
  /** Told after the server has checked the job, before files are sent. */
  readonly onAdmitted?: () => void
  readonly onUploaded?: (name: string, bytes: number) => void
}

export interface Submitted {
  readonly groupName: string
  readonly jobId: string
  readonly userId: string
}

export interface LogQuery {
  readonly role?: string | undefined
  readonly rank?: number | undefined
  readonly follow?: boolean | undefined
}

export interface JobSummary extends Pick<CloudJob, 'phase' | 'reason' | 'submittedAt' | 'changedAt'> {
  readonly jobId: string
  readonly name: string
  readonly group: string
  readonly priority: string
  readonly kind: string
  /** Of jobs on Kubernetes. */
  readonly processes?: JobStatus['processes']
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
  return {
    submit: async ({ request, files, fsUgi, onAdmitted, onUploaded }) => {
      const announced = await Promise.all(files.map(announce))
      const job = await call<Submitted>('POST', '/v1/jobs', { ...request, files: announced, fsUgi })
      try {
        onAdmitted?.()
        for (const [i, { name, bytes, sha256 }] of announced.entries()) {
          const path = `/v1/jobs/${job.jobId}/files/${encodeURIComponent(name)}`
          const body = createReadStream(files[i]!.path)
          await readText(await send({ server, keys, method: 'PUT', path, hash: sha256, body, bytes }))
          onUploaded?.(name, bytes)
        }
        await call('POST', `/v1/jobs/${job.jobId}/ready`)
      } catch (error) {
        await call('POST', `/v1/jobs/${job.jobId}/stop`).catch(() => undefined) // the server takes it back itself when it is gone
        throw error
      }
      return job
    },
    list: async (limit = 100) => await call('GET', `/v1/jobs?limit=${limit}`),
    info: async (id) => await call('GET', `/v1/jobs/${id}`),
    stop: async (id) => await call('POST', `/v1/jobs/${id}/stop`),
    logs: async function* (id, { role, rank, follow }) {
      const query = new URLSearchParams({
        ...(role !== undefined && { role }),
        ...(rank !== undefined && { rank: String(rank) }),
        ...(follow && { follow: '1' }),
      })
      const response = await send({
        server,
        keys,
        method: 'GET',
        path: `/v1/jobs/${id}/logs?${query}`,
        hash: EMPTY_HASH,
      })
      response.setEncoding('utf8')
      for await (const text of response) yield text as string
    },
  }
}

async function announce({ name, path }: { name: string; path: string }): Promise<AnnouncedFile> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(piece)
    bytes += piece.length
  }
  return { name, bytes, sha256: hash.digest('hex') }
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

function send({ server, keys, method, path, hash, body, bytes }: Sent): Promise<IncomingMessage> {
  const url = new URL(path, server)
  const headers = {
    ...sign({ method, path: `${url.pathname}${url.search}`, hash }, keys),
    ...(bytes !== undefined && { 'content-length': String(bytes) }),
  }
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
