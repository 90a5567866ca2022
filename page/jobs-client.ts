/** @file Questions to a job server, and what is asked to be done. */
import type { LogLines } from '../src/jobs/dashboard/api.ts'
import type { JobDetail, JobRow, Me } from '../src/jobs/server/page-api.ts'
import { ask, listenAt } from './client.ts'
import { signedHeaders } from './sign.ts'

const SIGN_IN = '/page/sign-in'
/** Pages of others cannot set it, and so cannot act here. */
const OWN = { 'x-oarfish-page': '1' }

const post = <T>(path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  ask<T>(path, {
    method: 'POST',
    headers: { ...OWN, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

export const signIn = (ak: string, sk: string) => post(SIGN_IN, undefined, signedHeaders('POST', SIGN_IN, { ak, sk }))
export const signOut = () => post('/page/sign-out')
export const rotateKeys = async () => (await post<{ ak: string; sk: string }>('/page/keys'))!
export const askMe = async () => (await ask<Me>('/page/me'))!
export const askJobs = async () => (await ask<{ jobs: readonly JobRow[] }>('/page/jobs'))!.jobs
export const askJob = (id: string) => ask<JobDetail>(jobPath(id))
export const stopJob = (id: string) => post(`${jobPath(id)}/stop`)
export const submitAgain = async (id: string, fsUgi: string) =>
  (await post<{ jobId: string }>(`${jobPath(id)}/again`, { fsUgi }))!.jobId
export const askJobLog = (id: string, name: string, query: Readonly<Record<string, string>>) =>
  ask<LogLines>(`${jobPath(id)}/logs/${encodeURIComponent(name)}?${new URLSearchParams(query)}`)

export const jobPath = (id: string) => `/page/jobs/${encodeURIComponent(id)}`
export const filePath = (id: string, name: string) => `${jobPath(id)}/files/${encodeURIComponent(name)}`

export const listenJobs = (id: string, onChange: () => void, onState: (isThere: boolean) => void) =>
  listenAt(`/page/live/${encodeURIComponent(id)}`, onChange, onState)
