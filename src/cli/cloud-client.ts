/** @file Which job server, and whose keys: from the command line, the environment, or what is remembered of a job. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../base/util/index.ts'
import type { CloudClient } from '../jobs/server/index.ts'
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
  const { cloudClient } = await import('../jobs/server/index.ts')
  const { referred } = await import('../jobs/submit/index.ts')
  const { env } = io
  const known = job === undefined ? lastOf(readJobs(env)) : (readJobs(env)[job] ?? lastOf(readJobs(env)))
  const { profile, ak, sk, fs_ugi: kept } = await keysFor(options, known?.profile, env, job)
  const server = options.server ?? env['PADDLECLOUD_SERVER'] ?? known?.server ?? (await serverOf(env))
  const fsUgi = (written: string | undefined) =>
    (referred(written) === undefined ? written : kept) || env['OARFISH_FS_UGI']
  return { ...cloudClient(server, { ak, sk }), server, profile, fsUgi }
}

interface Keys {
  readonly profile: string
  readonly ak: string
  readonly sk: string
  readonly fs_ugi?: string | undefined
}

/** Those of the command line, else of the profile it names, else of the environment, else of the last job. */
async function keysFor(
  options: ClientOptions,
  remembered: string | undefined,
  env: CliIo['env'],
  job: string | undefined,
): Promise<Keys> {
  const { findCredentials, hasCredentials, profileOf, saveCredentials } = await import('../jobs/submit/index.ts')
  const file = credentialsFile(env)
  const given = { ak: options.ak ?? env['OARFISH_AK'], sk: options.sk ?? env['OARFISH_SK'] }
  if ((options.ak ?? options.sk) !== undefined && !isPair(given))
    throw new UserError('--ak and --sk belong together.', { code: 'CLI_OPTION', hint: 'Give both, or --profile NAME.' })
  const isStored = options.profile !== undefined && (await hasCredentials(file, options.profile))
  if (isPair(given) && (options.ak !== undefined || !isStored)) {
    const profile = options.profile ?? profileOf('paddlecloud', given)
    await saveCredentials(file, profile, given)
    return { profile, ...given }
  }
  const profile = options.profile ?? remembered
  if (profile === undefined) throw noKeys(job)
  const found = await findCredentials(file, profile)
  if (!isPair(found)) throw noKeys(job)
  return { profile, ...found }
}

/** In place of those that a profile has; what else it has stays. */
export async function saveKeys(profile: string, keys: Pick<Keys, 'ak' | 'sk'>, { env }: CliIo): Promise<void> {
  const { findCredentials, saveCredentials } = await import('../jobs/submit/index.ts')
  const file = credentialsFile(env)
  const kept = await findCredentials(file, profile).catch(() => ({}))
  await saveCredentials(file, profile, { ...kept, ...keys })
}

function isPair<T extends { ak?: string | undefined; sk?: string | undefined }>(
  keys: T,
): keys is T & { ak: string; sk: string } {
  return keys.ak !== undefined && keys.sk !== undefined
}

/** Where a job server is, if nothing nearer says it. */
export const serverOf = async (env: CliIo['env']) =>
  env['PADDLECLOUD_SERVER'] ?? (await configuredServer(env)) ?? DEFAULT_SERVER

/** Later commands need only the id. */
export async function remember(id: string, { server, profile }: NamedClient, { env }: CliIo): Promise<void> {
  const { writePrivate } = await import('../base/fs/index.ts')
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

async function configuredServer(env: CliIo['env']): Promise<string | undefined> {
  const file = join(dirname(credentialsFile(env)), 'cloud.yaml')
  if (!existsSync(file)) return undefined
  const { server } = await parsed(file)
  if (server === undefined) throw badPlace(file, 'there is no "server" in it')
  if (/^https?:\/\/./.test(String(server))) return String(server)
  throw badPlace(file, `server is ${JSON.stringify(server)}, expected an address like ${DEFAULT_SERVER}`)
}

async function parsed(file: string): Promise<{ readonly server?: unknown }> {
  const { parseYamlValue, readYamlFile } = await import('../base/config/index.ts')
  try {
    const value = parseYamlValue(readYamlFile(file))
    return typeof value === 'object' && value !== null ? value : {}
  } catch (cause) {
    throw badPlace(file, `it cannot be read as yaml: ${(cause as Error).message.split('\n')[0]}`)
  }
}

const badPlace = (file: string, what: string) =>
  new UserError(`${file}: ${what}.`, {
    code: 'SUBMIT_SERVER',
    hint: `Write "server: ${DEFAULT_SERVER}" there, with the job server's address, or remove the file.`,
  })

const noKeys = (job: string | undefined) =>
  job === undefined
    ? new UserError('There are no keys for the job server.', {
        code: 'SUBMIT_CREDENTIALS',
        hint: 'Give --profile NAME, or set OARFISH_AK and OARFISH_SK.',
      })
    : new UserError(`No job ${job} was made from here, and there are no keys to ask the job server for it.`, {
        code: 'SUBMIT_CREDENTIALS',
        hint: 'oarfish jobs lists those made from here. For one of a server give --profile NAME, or set OARFISH_AK and OARFISH_SK.',
      })
