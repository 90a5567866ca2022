/** @file Which job server, and whose keys: from the command line, the environment, or what is remembered of a job. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import type { CloudClient } from '../cloud/index.ts'
import { writePrivate } from '../fs/index.ts'
import { UserError } from '../util/index.ts'
import type { CliIo } from './io.ts'
import { credentialsFile } from './user-places.ts'

export interface ClientOptions {
  readonly ak?: string
  readonly sk?: string
  readonly profile?: string
  readonly server?: string
}

export interface NamedClient extends CloudClient {
  readonly server: string
  readonly profile: string
  /** The value that config.ini names or holds. */
  fsUgi(written: string | undefined): string | undefined
}

interface Remembered {
  readonly server: string
  readonly profile: string
}

const DEFAULT_SERVER = 'http://127.0.0.1:8180'

/** `job`: an id whose server and keys are known from its submission. */
export async function clientFor(options: ClientOptions, io: CliIo, job?: string): Promise<NamedClient> {
  const { cloudClient } = await import('../cloud/index.ts')
  const { findCredentials, profileOf, referred, saveCredentials } = await import('../submit/index.ts')
  const { env } = io
  const known = job === undefined ? lastOf(readJobs(env)) : (readJobs(env)[job] ?? lastOf(readJobs(env)))
  const file = credentialsFile(env)
  const ak = options.ak ?? env['OARFISH_AK']
  const sk = options.sk ?? env['OARFISH_SK']
  const named = options.profile ?? (ak === undefined ? known?.profile : undefined)
  const given = ak !== undefined && sk !== undefined && options.profile === undefined ? { ak, sk } : undefined
  if (!given && named === undefined) throw noKeys()
  const found = given ?? { ...(await findCredentials(file, named!)) }
  if (found.ak === undefined || found.sk === undefined) throw noKeys()
  const profile = given ? profileOf('paddlecloud', given) : named!
  if (given) await saveCredentials(file, profile, given)
  const server = options.server ?? env['PADDLECLOUD_SERVER'] ?? known?.server ?? serverOf(env)
  const kept = 'fs_ugi' in found ? (found as { fs_ugi?: string }).fs_ugi : undefined
  const client = cloudClient(server, { ak: found.ak, sk: found.sk })
  const fsUgi = (written: string | undefined) =>
    env['OARFISH_FS_UGI'] ?? (referred(written) === undefined ? written : kept)
  return { ...client, server, profile, fsUgi }
}

/** Where a job server is, if nothing nearer says it. */
export const serverOf = (env: CliIo['env']) => env['PADDLECLOUD_SERVER'] ?? configuredServer(env) ?? DEFAULT_SERVER

/** Later commands need only the id. */
export async function remember(id: string, { server, profile }: NamedClient, { env }: CliIo): Promise<void> {
  const file = jobsFile(env)
  const { [id]: _same, ...others } = readJobs(env)
  const kept = Object.fromEntries(Object.entries(others).slice(-KEPT))
  await writePrivate(file, `${JSON.stringify({ ...kept, [id]: { server, profile } }, undefined, 2)}\n`)
}

const KEPT = 1000

const jobsFile = (env: CliIo['env']) => join(dirname(credentialsFile(env)), 'jobs.json')

function readJobs(env: CliIo['env']): Readonly<Record<string, Remembered>> {
  const file = jobsFile(env)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Remembered>) : {}
}

const lastOf = (jobs: Readonly<Record<string, Remembered>>) => Object.values(jobs).at(-1)

function configuredServer(env: CliIo['env']): string | undefined {
  const file = join(dirname(credentialsFile(env)), 'cloud.yaml')
  if (!existsSync(file)) return undefined
  const { server } = (parse(readFileSync(file, 'utf8')) ?? {}) as { server?: unknown }
  return typeof server === 'string' ? server : undefined
}

const noKeys = () =>
  new UserError('There are no keys for the job server.', {
    code: 'SUBMIT_CREDENTIALS',
    hint: 'Give --profile NAME, --ak and --sk, or set OARFISH_AK and OARFISH_SK.',
  })
