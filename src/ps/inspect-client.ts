/** @file Looking at a running server from outside its job. */
import { Peer, reach, sayHello, socketTransport, type Transport } from '../net/index.ts'
import { isUserError, UserError } from '../util/index.ts'
import type { InspectAnswer, InspectRequest } from './inspect.ts'
import { METHODS } from './protocol.ts'

export interface InspectOptions extends InspectRequest {
  /** host:port of any server of the job; a row's owner is found from there. */
  readonly server: string
  readonly token: string
  readonly transport?: Transport
  /** @default 5 seconds */
  readonly timeoutMs?: number
}

/** Asks a server, and where another one owns the row, that one. */
export async function inspectServer(options: InspectOptions): Promise<InspectAnswer> {
  const answer = await ask(options)
  if (answer.kind !== 'row' || answer.row || answer.owner.endpoint === options.server) return answer
  return await ask({ ...options, server: answer.owner.endpoint })
}

async function ask(options: InspectOptions): Promise<InspectAnswer> {
  const { server: endpoint, token, table, key, transport = socketTransport, timeoutMs = 5000 } = options
  const who = `server ${endpoint}`
  const identity = { jobId: '', token, role: 'observer', rank: 0, agreement: {} } as const
  const greet = (connection: Parameters<typeof sayHello>[0]) => sayHello(connection, who, identity)
  const { connection } = await reach({ transport, endpoint, who, timeoutMs, greet }).catch((error: unknown) => {
    throw isUserError(error) && error.code === 'NET_REFUSED' ? notAdmitted(error) : error
  })
  const peer = new Peer(connection, { who })
  try {
    const request = Buffer.from(JSON.stringify({ table, key } satisfies InspectWords))
    const answer = await peer.request(METHODS.inspect, [request], { timeoutMs, what: 'inspect' })
    return JSON.parse(Buffer.from(answer).toString('utf8')) as InspectAnswer
  } finally {
    peer.leave()
  }
}

type InspectWords = { readonly [K in keyof InspectRequest]: InspectRequest[K] | undefined }

function notAdmitted(cause: UserError): UserError {
  return new UserError(cause.message, {
    code: 'NET_REFUSED',
    hint: 'give the token of this job: --token, OARFISH_JOB_TOKEN, or --log_dir with the folder where fleetrun runs',
    cause,
  })
}
