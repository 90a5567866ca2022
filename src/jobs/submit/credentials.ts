/** @file Secrets of jobs: kept in one file that only its owner can read, named everywhere else, and stars in what is printed. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writePrivate } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'

export interface Credentials {
  readonly ak?: string
  readonly sk?: string
  readonly fs_ugi?: string
}

const KEYS = ['ak', 'sk', 'fs_ugi'] as const
const REFERENCE = /^credentials:([\w.-]+)$/

/** How a value is written where it must not stand: `credentials:paddle-1f0c8a22`. */
export const reference = (profile: string) => `credentials:${profile}`

/** The profile that a written value names, if it does. */
export const referred = (value: string | undefined): string | undefined => REFERENCE.exec(value ?? '')?.[1]

/** A name for these credentials that gives nothing of them away and is the same each time. */
export function profileOf(group: string, { ak = '', fs_ugi = '' }: Credentials): string {
  const digest = createHash('sha256').update(`${ak}\n${fs_ugi}`).digest('hex').slice(0, 8)
  return `${group.replaceAll(/[^\w.-]/g, '_') || 'job'}-${digest}`
}

/** Adds or replaces a profile. */
export async function saveCredentials(file: string, profile: string, credentials: Credentials): Promise<void> {
  const all = new Map([...(await readProfiles(file)), [profile, credentials]])
  const text = [...all].map(([name, values]) => [`[${name}]`, ...lines(values), ''].join('\n')).join('\n')
  await writePrivate(file, text)
}

export const hasCredentials = async (file: string, profile: string) => (await readProfiles(file)).has(profile)

export async function findCredentials(file: string, profile: string): Promise<Credentials> {
  const found = (await readProfiles(file)).get(profile)
  if (found) return found
  throw new UserError(`There are no credentials called ${profile} in ${file}.`, {
    code: 'SUBMIT_CREDENTIALS',
    hint: 'They are written when a job is submitted. Submit again with ak and sk in backend.yaml, or set OARFISH_AK, OARFISH_SK and OARFISH_FS_UGI.',
  })
}

const lines = (credentials: Credentials) =>
  KEYS.flatMap((key) => (credentials[key] === undefined ? [] : [`${key}=${credentials[key]}`]))

async function readProfiles(file: string): Promise<ReadonlyMap<string, Credentials>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const sections = text.split(/^\[([^\]\n]+)\]\n/m).slice(1)
  const names = sections.filter((_part, i) => i % 2 === 0)
  return new Map(names.map((name, i) => [name, parse(sections[2 * i + 1] ?? '')]))
}

function parse(section: string): Credentials {
  const entries = section.split('\n').flatMap((line) => {
    const at = line.indexOf('=')
    const key = KEYS.find((known) => known === line.slice(0, at))
    return key ? [[key, line.slice(at + 1)] as const] : []
  })
  return Object.fromEntries(entries)
}

/** A function that puts stars in the place of each of these values, also within longer text. */
export function maskOf(secrets: readonly (string | undefined)[]): (text: string) => string {
  // Longest first: a secret may be part of another.
  const known = [...new Set(secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST))].sort(
    (a, b) => b!.length - a!.length,
  ) as string[]
  return (text) => known.reduce((masked, secret) => masked.replaceAll(secret, '******'), text)
}

// A secret of one or two characters would blot out most of any text.
const SHORTEST = 3
