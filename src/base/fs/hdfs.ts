/** @file `hdfs://` and `afs://` over WebHDFS: plain HTTP, no Hadoop client. The name node says where, a data node sends or takes. */
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { isUserError, UserError } from '../util/index.ts'
import { type FileChecksum, SentBytes } from './hdfs-checksum.ts'
import { forgetToken, kerberosToken } from './hdfs-kerberos.ts'
import { drain, exchange, HttpStatusError, joined, resumed, retried } from './http.ts'
import type { RemoteFile, RemoteFiles, RemoteOptions } from './remote.ts'

/** WebHDFS's own port; `fs_name` usually has the RPC port, which HTTP does not understand. */
const HTTP_PORT = 9870

const KERBEROS = 'kerberos'

const baseOf = (url: URL) => `http://${url.hostname}:${url.port || HTTP_PORT}/webhdfs/v1`

/** What a job carries to nodes where its user has no ticket: a token in place of `kerberos`. */
export async function carriedUgi(name: string | undefined, ugi: string | undefined): Promise<string | undefined> {
  if (ugi !== KERBEROS || name === undefined) return ugi
  return `token:${await kerberosToken(baseOf(new URL(name)))}`
}

/** In place of `user,password`: `token:...` is a delegation token, `kerberos` one that is asked for with this user's ticket. */
export function hdfsFiles(url: URL, { ugi = '' }: RemoteOptions): RemoteFiles {
  const base = baseOf(url)
  const root = url.pathname.replace(/\/$/, '')
  const [user = ''] = ugi.split(',')
  const isKerberos = ugi === KERBEROS
  const who = async () => {
    const token = isKerberos ? await kerberosToken(base) : ugi.startsWith('token:') ? ugi.slice(6) : undefined
    return token === undefined
      ? `user.name=${encodeURIComponent(user || 'oarfish')}`
      : `delegation=${encodeURIComponent(token)}`
  }
  const at = async (path: string, query: string) => `${base}${encodePath(`${root}/${path}`)}?${query}&${await who()}`
  const mayPass = (error: HttpStatusError) => {
    const isOld = isKerberos && exceptionOf(error) === 'InvalidToken'
    if (isOld) forgetToken(base)
    return isOld || isPassing(error)
  }
  const ask = async (path: string, op: string) =>
    await retried(async () => await exchange({ url: await at(path, op) }), worded(path), mayPass)
  const list = async (folder: string, below = ''): Promise<readonly RemoteFile[]> => {
    const { FileStatuses } = JSON.parse(
      await text(await ask([folder, below].filter((part) => part !== '').join('/'), 'op=LISTSTATUS')),
    ) as Listing
    const found = FileStatuses.FileStatus.map(async ({ pathSuffix, type, length }) => {
      const path = [below, pathSuffix].filter((part) => part !== '').join('/')
      return type === 'DIRECTORY' ? await list(folder, path) : [{ path, bytes: length }]
    })
    return (await Promise.all(found)).flat()
  }
  const writeAside = async (path: string, content: AsyncIterable<Uint8Array>) => {
    const aside = `${path}._part`
    const sent = new SentBytes()
    await create(async () => await at(aside, 'op=CREATE&overwrite=true'), sent.through(content), mayPass)
    const found = await checksum(async () => await ask(aside, 'op=GETFILECHECKSUM'))
    if (found && sent.isSame(found) === false) {
      await drain(await exchange({ method: 'DELETE', url: await at(aside, 'op=DELETE') }))
      throw damaged(path, DAMAGED.sent)
    }
    await drain(await exchange({ method: 'DELETE', url: await at(path, 'op=DELETE') }))
    const target = encodeURIComponent(`${root}/${path}`.replaceAll(/\/+/g, '/'))
    const url = await at(aside, `op=RENAME&destination=${target}`)
    const { boolean: moved } = JSON.parse(await text(await exchange({ method: 'PUT', url })))
    if (moved !== true) throw new Error(`HDFS did not rename ${aside}`)
  }
  async function* readWhole(path: string): AsyncGenerator<Uint8Array> {
    const came = new SentBytes()
    yield* came.through(resumed((offset) => ask(path, `op=OPEN&offset=${offset}`), worded(path)))
    const found = await checksum(async () => await ask(path, 'op=GETFILECHECKSUM'))
    if (found && came.isSame(found) === false) throw damaged(path, DAMAGED.came)
  }
  return {
    list: async (folder) => [...(await list(folder))].sort((a, b) => (a.path < b.path ? -1 : 1)),
    read: readWhole,
    readRange: async (path, from, length) =>
      await joined(
        resumed((got) => ask(path, `op=OPEN&offset=${from + got}&length=${length - got}`), worded(path)),
        length,
      ),
    write: async (path, content) => {
      try {
        await writeAside(path, content)
      } catch (error) {
        throw worded(path)(error as Error)
      }
    },
  }
}

interface Listing {
  readonly FileStatuses: {
    readonly FileStatus: readonly { readonly pathSuffix: string; readonly type: string; readonly length: number }[]
  }
}

/** The name node answers with the address of a data node, which takes the bytes; nothing is sent to the first. */
async function create(
  url: () => Promise<string>,
  content: AsyncIterable<Uint8Array>,
  mayPass: (error: HttpStatusError) => boolean,
): Promise<void> {
  const first = await retried(
    async () => await exchange({ method: 'PUT', url: await url(), redirect: false }),
    (error) => error,
    mayPass,
  )
  await drain(first)
  const { location } = first.headers
  if (location === undefined) throw new Error('the name node named no data node to write to')
  await drain(await exchange({ method: 'PUT', url: location, body: content }))
}

/** Undefined where a gateway before HDFS does not know it: the size is all there is then. */
async function checksum(ask: () => Promise<IncomingMessage>): Promise<FileChecksum | undefined> {
  try {
    return (JSON.parse(await text(await ask())) as { FileChecksum?: FileChecksum }).FileChecksum
  } catch (error) {
    const { cause } = error as Error
    if (cause instanceof HttpStatusError && UNKNOWN_OPERATION.includes(cause.status)) return undefined
    throw error
  }
}

const UNKNOWN_OPERATION = [400, 405, 501]

const DAMAGED = {
  sent: ['what HDFS has is not what was sent', 'Nothing was written; try again'],
  came: ['what came is not what HDFS has', 'Try again'],
} as const

const damaged = (path: string, [what, then]: (typeof DAMAGED)[keyof typeof DAMAGED]) =>
  new UserError(`${path}: ${what}.`, {
    code: 'FS_CHECKSUM',
    hint: `Bytes were changed on the way. ${then}, and look at the network between here and the data nodes.`,
  })

const encodePath = (path: string) =>
  path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => `/${encodeURIComponent(part)}`)
    .join('') || '/'

/** A name node that starts, is the second of two, or lets nobody write yet answers 403 as if it were for want of rights. */
const isPassing = (error: HttpStatusError) =>
  ['RetriableException', 'StandbyException', 'SafeModeException'].includes(exceptionOf(error))

const exceptionOf = ({ body }: HttpStatusError) => parsed(body).RemoteException?.exception ?? ''

interface RemoteException {
  readonly RemoteException?: { readonly exception?: string; readonly message?: string }
}

/** HDFS's exceptions as sentences. */
const worded =
  (path: string) =>
  (error: Error): Error => {
    if (isUserError(error)) return error
    if (!(error instanceof HttpStatusError)) {
      return new UserError(`HDFS cannot be reached for ${path}: ${error.message}.`, {
        code: 'FS_UNREACHABLE',
        hint: 'Check fs_name: WebHDFS is the HTTP port of the name node, 9870 unless it was changed.',
        cause: error,
      })
    }
    const { exception = '', message = error.message } = parsed(error.body).RemoteException ?? {}
    if (error.status === 404 || exception === 'FileNotFoundException')
      return new UserError(`${path}: there is nothing of that name on HDFS.`, {
        code: 'FS_NOT_FOUND',
        hint: 'Check the path; it is below fs_name.',
        cause: error,
      })
    const refused = (error.status === 401 || error.status === 403) && !isPassing(error)
    return new UserError(`HDFS refused ${path}: ${message.split('\n')[0]}.`, {
      code: refused ? 'FS_FORBIDDEN' : 'FS_FAILED',
      hint: refused
        ? 'Check fs_ugi (user,password, kerberos, or token:TOKEN) and the rights of that user.'
        : "The name node's log says more.",
      cause: error,
    })
  }

function parsed(body: string): RemoteException {
  try {
    return JSON.parse(body) as RemoteException
  } catch {
    return {}
  }
}
