/** @file A job server as a process, with users of two groups and an administrator, and who asks its page as a browser would. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, vi } from 'vitest'
import { signedHeaders } from '../../page/sign.ts'
import type { JobRequest } from '../../src/jobs/executors/index.ts'
import { addGroup, addUser, cloudClient, type Keys } from '../../src/jobs/server/index.ts'
import { firstOutput } from './mpi-cluster.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

export interface PageServer {
  readonly url: string
  readonly dir: string
  readonly keys: Readonly<Record<UserName, Keys>>
  submit(user: UserName, request: Partial<JobRequest>, files?: readonly string[], fsUgi?: string): Promise<string>
  phase(user: UserName, job: string, phase: string): Promise<void>
  close(): Promise<void>
}

type UserName = 'alice' | 'bob' | 'eve' | 'chief'

/** alice and bob are of one group, eve of another, chief is an administrator. */
export async function openPageServer(): Promise<PageServer> {
  const folder = mkdtempSync(join(tmpdir(), 'job-page-'))
  const dir = join(folder, 'server')
  mkdirSync(dir)
  const accounts = join(dir, 'accounts.json')
  for (const group of ['ctr', 'ads']) await addGroup(accounts, group, { quota: 2, priorities: ['high', 'normal'] })
  const keys = {} as Record<UserName, Keys>
  for (const name of ['alice', 'bob', 'eve', 'chief'] as const)
    keys[name] = await addUser(accounts, {
      name,
      groups: [name === 'eve' ? 'ads' : 'ctr'],
      ...(name === 'chief' ? { admin: true } : {}),
    })
  const child: ChildProcess = spawn(process.execPath, [OARFISH, 'cloud', 'serve', '--dir', dir, '--port', '0'])
  const url = /http:\/\/[\d.:]+/.exec(await firstOutput(child, 60_000))![0]
  const clientOf = (user: UserName) => cloudClient(url, keys[user])
  return {
    url,
    dir,
    keys,
    submit: async (user, request, files = [], fsUgi) => {
      const named = files.map((path) => ({ name: path.split('/').at(-1)!, path }))
      return (await clientOf(user).submit({ request: described(request), files: named, fsUgi })).jobId
    },
    phase: async (user, job, phase) => {
      const look = async () => expect((await clientOf(user).info(job)).phase).toBe(phase)
      await vi.waitFor(look, { timeout: 60_000, interval: 100 })
    },
    close: async () => {
      const gone = new Promise((done) => child.once('exit', done))
      child.kill('SIGTERM')
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const described = (request: Partial<JobRequest>): Omit<JobRequest, 'files'> => ({
  ...{ name: 'test', group: 'ctr', priority: 'high', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {}, command: 'true' },
  roles: [{ name: 'trainer', replicas: 1, resources: {} }],
  ...request,
})

export interface Answer {
  readonly status: number
  readonly text: string
  readonly cookie: string
}

export type Ask = (
  method: string,
  path: string,
  headers?: Readonly<Record<string, string>>,
  body?: string,
) => Promise<Answer>

const OWN = { 'x-oarfish-page': '1' }

/** As the page does it. `cookie` is what a browser would send. */
export const asker =
  ({ url }: Pick<PageServer, 'url'>, cookie = ''): Ask =>
  async (method, path, headers = OWN, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { cookie, ...headers },
      ...(body === undefined ? {} : { body }),
    })
    return { status: response.status, text: await response.text(), cookie: response.headers.get('set-cookie') ?? '' }
  }

export const signIn = async (server: Pick<PageServer, 'url'>, keys: Keys): Promise<Answer> =>
  await asker(server)('POST', '/page/sign-in', { ...OWN, ...signedHeaders('POST', '/page/sign-in', keys) })

/** Asks with the cookie of a session of these keys. */
export async function signedIn(server: Pick<PageServer, 'url'>, keys: Keys): Promise<Ask> {
  const { status, cookie } = await signIn(server, keys)
  expect(status).toBe(200)
  return asker(server, cookie.split(';')[0])
}
