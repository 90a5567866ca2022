/** @file Groups and users of a job server: one file, changed by `oarfish cloud group` and `oarfish cloud user`, read again when it changed. */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Priority } from '../config/index.ts'
import { writePrivate } from '../fs/index.ts'
import { UserError } from '../util/index.ts'

export interface Group {
  /** Nodes that its jobs may hold at one time. */
  readonly quota: number
  readonly priorities: readonly Priority[]
}

export interface User {
  readonly id: string
  readonly ak: string
  readonly sk: string
  readonly groups: readonly string[]
  /** Whose processes its jobs are; undefined: the server's own. */
  readonly uid?: number
}

export interface Accounts {
  readonly groups: Readonly<Record<string, Group>>
  readonly users: Readonly<Record<string, User>>
}

const NONE: Accounts = { groups: {}, users: {} }

export function readAccounts(file: string): Accounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Accounts
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE
    throw accountError(`${file} cannot be read: ${(error as Error).message}.`, DIR_HINT)
  }
}

/** The accounts as they are now; the file is read only when it is another one. */
export function accountsReader(file: string): () => Accounts {
  let [seen, accounts] = ['', NONE]
  return () => {
    const stats = statSync(file, { throwIfNoEntry: false })
    const now = stats ? `${stats.ino} ${stats.mtimeMs} ${stats.size}` : 'none'
    if (now !== seen) [seen, accounts] = [now, readAccounts(file)]
    return accounts
  }
}

export async function addGroup(file: string, name: string, group: Group): Promise<void> {
  const accounts = readAccounts(file)
  await writeAccounts(file, { ...accounts, groups: { ...accounts.groups, [name]: group } })
}

export interface NewUser {
  readonly name: string
  readonly groups: readonly string[]
  readonly uid?: number | undefined
}

/** Keys are made here and shown once, by the caller. */
export async function addUser(file: string, { name, groups, uid }: NewUser): Promise<User> {
  const accounts = readAccounts(file)
  if (accounts.users[name]) throw accountError(`There is a user ${name} already.`, `oarfish cloud user rotate ${name}`)
  const unknown = groups.find((group) => !accounts.groups[group])
  if (unknown !== undefined)
    throw accountError(`There is no group ${unknown}.`, `oarfish cloud group add ${unknown} --quota 4`)
  const user: User = { id: randomBytes(8).toString('hex'), ...newKeys(), groups, ...(uid !== undefined && { uid }) }
  await writeAccounts(file, { ...accounts, users: { ...accounts.users, [name]: user } })
  return user
}

/** The old keys are worth nothing from now on. */
export async function rotateKeys(file: string, name: string): Promise<User> {
  const accounts = readAccounts(file)
  const user = accounts.users[name]
  if (!user) throw accountError(`There is no user ${name}.`, `oarfish cloud user add ${name} --group GROUP`)
  const changed = { ...user, ...newKeys() }
  await writeAccounts(file, { ...accounts, users: { ...accounts.users, [name]: changed } })
  return changed
}

const newKeys = () => ({ ak: randomBytes(16).toString('hex'), sk: randomBytes(32).toString('hex') })

const accountError = (message: string, hint: string) => new UserError(message, { code: 'CLOUD_ACCOUNT', hint })

const DIR_HINT = 'Run this as the user of the job server, with its --dir.'

async function writeAccounts(file: string, accounts: Accounts): Promise<void> {
  try {
    await writePrivate(file, `${JSON.stringify(accounts, undefined, 2)}\n`)
  } catch (error) {
    throw accountError(`${file} cannot be written: ${(error as Error).message}.`, DIR_HINT)
  }
}
