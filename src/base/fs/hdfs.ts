/** @file `hdfs://` and `afs://` over WebHDFS: plain HTTP, no Hadoop client. The name node says where, a data node sends or takes. */
import { text } from 'node:stream/consumers'
import { isUserError, UserError } from '../util/index.ts'
import { type FileChecksum, SentBytes } from './hdfs-checksum.ts'
import { drain, exchange, HttpStatusError, joined, resumed, retried } from './http.ts'
import type { RemoteFile, RemoteFiles, RemoteOptions } from './remote.ts'

/** WebHDFS's own port; `fs_name` usually has the RPC port, which HTTP does not understand. */
const HTTP_PORT = 9870

/** `token:...` in place of `user,password` is a delegation token. */
export function hdfsFiles(url: URL, { ugi = '' }: RemoteOptions): RemoteFiles {
  const base = `http://${url.hostname}:${url.port || HTTP_PORT}/webhdfs/v1`
  const root = url.pathname.replace(/\/$/, '')
  const [user = ''] = ugi.split(',')
  const who = ugi.startsWith('token:')
    ? `delegation=${encodeURIComponent(ugi.slice(6))}`
    : `user.name=${encodeURIComponent(user || 'oarfish')}`
  const at = (path: string, query: string) => `${base}${encodePath(`${root}/${path}`)}?${query}&${who}`
  const ask = async (path: string, op: string) =>
    await retried(async () => await exchange({ url: at(path, op) }), worded(path), isPassing)
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
    await create(at(aside, 'op=CREATE&overwrite=true'), sent.through(content))
    const found = await checksum(at(aside, 'op=GETFILECHECKSUM'))
    if (found && sent.isSame(found) === false) {
      await drain(await exchange({ method: 'DELETE', url: at(aside, 'op=DELETE') }))
      throw damaged(path)
    }
    await drain(await exchange({ method: 'DELETE', url: at(path, 'op=DELETE') }))
    const target = encodeURIComponent(`${root}/${path}`.replaceAll(/\/+/g, '/'))
    const url = at(aside, `op=RENAME&destination=${target}`)
    const { boolean: moved } = JSON.parse(await text(await exchange({ method: 'PUT', url })))
    if (moved !== true) throw new Error(`HDFS did not rename ${aside}`)
  }
  return {
    list: async (folder) => [...(await list(folder))].sort((a, b) => (a.path < b.path ? -1 : 1)),
    read: (path) => resumed((offset) => ask(path, `op=OPEN&offset=${offset}`), worded(path)),
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
async function create(url: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const first = await retried(
    async () => await exchange({ method: 'PUT', url, redirect: false }),
    (error) => error,
    isPassing,
  )
  await drain(first)
  const { location } = first.headers
  if (location === undefined) throw new Error('the name node named no data node to write to')
  await drain(await exchange({ method: 'PUT', url: location, body: content }))
}

/** Undefined where a gateway before HDFS does not know it: the size is all there is then. */
async function checksum(url: string): Promise<FileChecksum | undefined> {
  try {
    const answer = await retried(
      async () => await exchange({ url }),
      (error) => error,
      isPassing,
    )
    return (JSON.parse(await text(answer)) as { FileChecksum?: FileChecksum }).FileChecksum
  } catch (error) {
    if (error instanceof HttpStatusError && UNKNOWN_OPERATION.includes(error.status)) return undefined
    throw error
  }
}

const UNKNOWN_OPERATION = [400, 405, 501]

const damaged = (path: string) =>
  new UserError(`${path}: what HDFS has is not what was sent.`, {
    code: 'FS_CHECKSUM',
    hint: 'Bytes were changed on the way. Nothing was written; try again, and look at the network between here and the data nodes.',
  })

const encodePath = (path: string) =>
  path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => `/${encodeURIComponent(part)}`)
    .join('') || '/'

/** A name node that starts, is the second of two, or lets nobody write yet answers 403 as if it were for want of rights. */
const isPassing = ({ body }: HttpStatusError) =>
  ['RetriableException', 'StandbyException', 'SafeModeException'].includes(
    parsed(body).RemoteException?.exception ?? '',
  )

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
        ? 'Check fs_ugi (user,password, or token:TOKEN) and the rights of that user.'
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
