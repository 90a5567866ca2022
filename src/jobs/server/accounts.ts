/** @file Groups and users of a job server: one file, changed by `oarfish cloud group` and `oarfish cloud user`, read again when it changed. */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { PRIORITIES } from '../../base/config/index.ts'
import { writePrivate } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import { makePassable } from './passable.ts'
import { isSealed, keyFileOf, openSealer } from './seal.ts'

const groupSchema = z.object({
  /** Nodes that its jobs may hold at one time. */
  quota: z.int().min(0),
  priorities: z.array(z.enum(PRIORITIES)),
})

const userSchema = z.object({
  id: z.string(),
  ak: z.string().min(1),
  /** Sealed in the file, plain in memory. */
  sk: z.string().min(1),
  groups: z.array(z.string()),
  /** Whose processes its jobs are; undefined: the server's own. */
  uid: z.int().min(0).optional(),
  /** Sees and stops the jobs of all. */
  admin: z.boolean().optional(),
})

const accountsSchema = z.object({
  groups: z.record(z.string(), groupSchema),
  users: z.record(z.string(), userSchema),
})

type Deep<T> = T extends readonly (infer E)[] ? readonly E[] : { readonly [K in keyof T]: Deep<T[K]> }
export type Group = Deep<z.infer<typeof groupSchema>>
export type User = Deep<z.infer<typeof userSchema>>
export interface Accounts {
  readonly groups: Readonly<Record<string, Group>>
  readonly users: Readonly<Record<string, User>>
}

const NONE: Accounts = { groups: {}, users: {} }

export function readAccounts(file: string): Accounts {
  const written = readWritten(file)
  const sealer = Object.keys(written.users).length > 0 ? openSealer(keyFileOf(file)) : undefined
  const users = Object.entries(written.users).map(([name, user]) => [
    name,
    isSealed(user.sk) ? { ...user, sk: sealer!.open(user.sk, purposeOf(name)) } : user,
  ])
  return { ...written, users: Object.fromEntries(users) }
}

/** As the file has them. */
function readWritten(file: string): Accounts {
  try {
    const parsed = accountsSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    throw new Error(`${issue?.path.join('.') || 'the whole'}: ${issue?.message}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE
    throw accountError(`${file} cannot be read: ${(error as Error).message}.`, DIR_HINT)
  }
}

/**
 * The accounts as they are now; the file is read only when it is another one. While it cannot be read this throws, and `warn`
 * says so once: nobody is let in by what the file said before, since it may have been changed to keep him out.
 */
export function accountsReader(file: string, warn: (message: string) => void = () => undefined): () => Accounts {
  let [seen, said, triedAt] = ['', '', 0]
  let found: Attempt = { accounts: NONE, error: undefined }
  return () => {
    const stats = statSync(file, { throwIfNoEntry: false })
    const now = stats ? `${stats.ino} ${stats.mtimeMs} ${stats.size}` : 'none'
    // What is wrong may be the key file, or a right: the file itself need not change for it to be mended.
    if (now !== seen || (found.error && Date.now() - triedAt > AGAIN_MS)) {
      ;[seen, triedAt, found] = [now, Date.now(), attempt(file)]
      const problem = found.error?.message ?? ''
      if (problem !== said)
        warn(problem === '' ? `${file} can be read again.` : `${problem} Every request is refused until it is mended.`)
      said = problem
    }
    if (found.error) throw found.error
    return found.accounts
  }
}

const AGAIN_MS = 1000

type Attempt = { readonly accounts: Accounts; readonly error: undefined } | { readonly error: Error }

function attempt(file: string): Attempt {
  try {
    return { accounts: readAccounts(file), error: undefined }
  } catch (error) {
    return { error: error as Error }
  }
}

/** Seals keys that an earlier version wrote as they are. */
export async function sealAccounts(file: string): Promise<void> {
  if (Object.values(readWritten(file).users).some(({ sk }) => !isSealed(sk)))
    await writeAccounts(file, readAccounts(file))
}

/** Also of an object that has no entries: `constructor`. */
function checkName(name: string): void {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_.@+-]{0,63}$/u.test(name) || name in {})
    throw accountError(
      `${JSON.stringify(name.slice(0, 80))} can be no name here.`,
      'Use letters, digits, _ . @ + and -, up to 64.',
    )
}

export async function addGroup(file: string, name: string, group: Group): Promise<void> {
  checkName(name)
  const accounts = readAccounts(file)
  await writeAccounts(file, { ...accounts, groups: { ...accounts.groups, [name]: group } })
}

export type NewUser = Pick<User, 'groups' | 'uid' | 'admin'> & { readonly name: string }

/** Keys are made here and shown once, by the caller. */
export async function addUser(file: string, { name, groups, uid, admin }: NewUser): Promise<User> {
  checkName(name)
  const accounts = readAccounts(file)
  if (accounts.users[name]) throw accountError(`There is a user ${name} already.`, `oarfish cloud user rotate ${name}`)
  const unknown = groups.find((group) => !Object.hasOwn(accounts.groups, group))
  if (unknown !== undefined)
    throw accountError(`There is no group ${unknown}.`, `oarfish cloud group add ${unknown} --quota 4`)
  const user: User = { id: randomBytes(8).toString('hex'), ...newKeys(), groups, uid, admin }
  await writeAccounts(file, { ...accounts, users: { ...accounts.users, [name]: user } })
  return user
}

/** The old keys are worth nothing from now on. Works without the key file, too: that is how a lost one is mended. */
export async function rotateKeys(file: string, name: string): Promise<User> {
  const written = readWritten(file)
  const user = written.users[name]
  if (!user) throw accountError(`There is no user ${name}.`, `oarfish cloud user add ${name} --group GROUP`)
  const changed = { ...user, ...newKeys() }
  await writeAccounts(file, { ...written, users: { ...written.users, [name]: changed } })
  return changed
}

const newKeys = () => ({ ak: randomBytes(16).toString('hex'), sk: randomBytes(32).toString('hex') })
const purposeOf = (user: string) => `the key of user ${user}`

const accountError = (message: string, hint: string) => new UserError(message, { code: 'CLOUD_ACCOUNT', hint })

const DIR_HINT =
  'Run this as the user of the job server, with its --dir. Restore the file from a backup where it is damaged.'

async function writeAccounts(file: string, accounts: Accounts): Promise<void> {
  try {
    await makePassable(dirname(file))
    const { seal } = openSealer(keyFileOf(file))
    const users = Object.entries(accounts.users).map(([name, user]) => [
      name,
      isSealed(user.sk) ? user : { ...user, sk: seal(user.sk, purposeOf(name)) },
    ])
    const text = JSON.stringify({ ...accounts, users: Object.fromEntries(users) }, undefined, 2)
    await writePrivate(file, `${text}\n`)
  } catch (error) {
    throw accountError(`${file} cannot be written: ${(error as Error).message}.`, DIR_HINT)
  }
}
