/** @file Looking at a running server from outside its job. */
import {
  BadMessage,
  clientHandshake,
  openTls,
  Peer,
  reach,
  readJson,
  refused,
  socketTransport,
  type TlsSetting,
  type Transport,
} from '../../base/net/index.ts'
import { isUserError, printable, UserError } from '../../base/util/index.ts'
import type { InspectAnswer, InspectRequest } from './inspect.ts'
import { readInspectAnswer } from './inspect-answer.ts'
import { type HotReport, type JobHotReport, joinReports } from './inspect-hot.ts'
import { METHODS } from './protocol.ts'

export interface InspectOptions extends Omit<InspectRequest, 'hot'> {
  /** host:port of any server of the job; a row's owner is found from there. */
  readonly server: string
  readonly token: string
  /** Where the job has runner.tls. @default plain */
  readonly tls?: TlsSetting | undefined
  readonly transport?: Transport
  /** @default 5 seconds */
  readonly timeoutMs?: number
}

/** Asks a server, and where another one owns the row, that one. */
export async function inspectServer(options: InspectOptions): Promise<PlainAnswer> {
  const answer = await askPlain(options)
  if (answer.kind !== 'row' || answer.row || answer.owner.endpoint === options.server) return answer
  return await askPlain({ ...options, server: answer.owner.endpoint })
}

export type PlainAnswer = Exclude<InspectAnswer, { readonly kind: 'hot' }>

async function askPlain(options: InspectOptions): Promise<PlainAnswer> {
  const answer = await ask(options)
  if (answer.kind !== 'hot') return answer
  throw answersElse(options.server)
}

export interface HotOptions extends InspectOptions {
  readonly hot: number
}

/** Asks all servers of the job for their `hot` hottest rows. */
export async function inspectHot(options: HotOptions): Promise<JobHotReport> {
  const first = await askHot(options)
  const others = first.servers.flatMap((server, rank) => (rank === first.server ? [] : [{ ...options, server }]))
  const reports = [first, ...(await Promise.all(others.map(askHot)))]
  return joinReports(
    reports.sort((a, b) => a.server - b.server),
    options.hot,
  )
}

async function askHot(options: HotOptions): Promise<HotReport> {
  const answer = await ask(options)
  if (answer.kind === 'hot') return answer
  throw answersElse(options.server)
}

const answersElse = (server: string) =>
  refused(`server ${server}`, 'it answers something else', 'look with the version that the job has')

async function ask(options: InspectOptions & Pick<InspectRequest, 'hot'>): Promise<InspectAnswer> {
  const { server: endpoint, token, table, key, hot, transport = socketTransport, timeoutMs = 5000 } = options
  const tls = openTls(options.tls, { token })
  const who = `server ${endpoint}`
  const identity = { jobId: '', token, role: 'observer', rank: 0, agreement: {} } as const
  const greet = (connection: Parameters<typeof clientHandshake>[0]) => clientHandshake(connection, who, identity)
  const { connection } = await reach({ transport, endpoint, who, timeoutMs, tls, greet }).catch((error: unknown) => {
    throw isUserError(error) && error.code === 'NET_REFUSED' ? notAdmitted(error) : error
  })
  const peer = new Peer(connection, { who })
  try {
    const request = Buffer.from(JSON.stringify({ table, key, hot } satisfies InspectRequest))
    const answer = await peer.request(METHODS.inspect, [request], { timeoutMs, what: 'inspect' })
    return readJson(answer, 'what it shows', readInspectAnswer)
  } catch (error) {
    if (!(error instanceof BadMessage)) throw error
    throw refused(
      who,
      `its answer cannot be read (${printable(error.message)})`,
      'look with the version that the job has',
    )
  } finally {
    peer.leave()
  }
}

function notAdmitted(cause: UserError): UserError {
  return new UserError(cause.message, {
    code: 'NET_REFUSED',
    hint: 'give the token of this job: --token, OARFISH_JOB_TOKEN, or --log_dir with the folder where fleetrun runs',
    cause,
  })
}
