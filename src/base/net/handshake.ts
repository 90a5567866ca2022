/**
 * @file The handshake: both sides of a connection prove that they know the job's token before either says anything else. Whoever does not
 * know it hears "no", and nothing about the job.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isUserError, printable } from '../util/index.ts'
import { peerLost, refused, SILENCE_MS, stranger } from './errors.ts'
import {
  BadMessage,
  checkMessage,
  fields,
  oneOf,
  optional,
  type Reader,
  readJson,
  record,
  text,
  truth,
  whole,
} from './message.ts'
import type { TlsKeys } from './tls-keys.ts'
import { type Connection, type Frame, MAX_FRAME_BYTES, MAX_HELLO_BYTES } from './transport.ts'

const MAGIC = 'oarfish'
/** Raised whenever frames or messages change: processes of different versions must not train together. */
export const PROTOCOL_VERSION = 2
const HANDSHAKE_TIMEOUT_MS = 10 * 1000
/** For the answer to a hello: the server knows this process by then, and would take one that comes again for another of its rank. */
const ANSWER_TIMEOUT_MS = 60 * 1000
const ROLES = ['worker', 'server', 'observer'] as const

/** Who a process says it is. */
export interface Identity {
  readonly jobId: string
  /** Never sent: it keys the proof. */
  readonly token: string
  /** An observer looks at a job without being part of it: it need not know its name nor its configuration. */
  readonly role: (typeof ROLES)[number]
  readonly rank: number
  /** What both sides must agree on besides the job, by name: configuration, program, number of workers. */
  readonly agreement: Readonly<Record<string, string>>
  /** Never sent: with it connections between hosts are encrypted. @default they are not */
  readonly tls?: TlsKeys | undefined
  /** How long a process of the job may be silent until it counts as gone; of two that differ the longer counts. @default 10 seconds */
  readonly silenceMs?: number | undefined
  /** Never sent: hosts that may connect where the token is derived from what anybody may know. @default all hosts */
  readonly hosts?: readonly string[] | undefined
}

/** What the other side has proved to be; `facts` is what it says about itself. */
export interface PeerIdentity extends Omit<Identity, 'token' | 'tls' | 'hosts' | 'silenceMs'> {
  readonly facts: Readonly<Record<string, string>>
}

/** The server's first word. */
interface Challenge {
  readonly magic: string
  readonly version: number
  readonly nonce: string
  /** With it there is nothing more to say. */
  readonly no?: boolean | undefined
}
/** The client's: it knows the token, and asks the server to prove the same. */
interface ClientProof {
  readonly version: number
  readonly nonce: string
  readonly proof: string
}
/** Whatever else such a process says is not understood. */
interface OtherVersion {
  readonly version: number
  readonly proof?: undefined
}
/** Empty: no. */
interface ServerProof {
  readonly proof?: string | undefined
}
/** After both proofs: who a process is. */
type Hello = PeerIdentity & { readonly proof: string }
export interface Refusal {
  readonly refusal: string
  readonly hint: string
}
type Answer = { readonly hello?: Hello | undefined; readonly refused?: Refusal | undefined }

/** Fact of every hello: how long that process waits for one that is silent, in milliseconds. */
const SILENCE = 'silence'

/** After the handshake: how long either side of a connection may be silent. The more patient one counts, on both sides. */
export function agreedSilence(
  { silenceMs = SILENCE_MS }: Pick<Identity, 'silenceMs'>,
  { facts }: PeerIdentity,
): number {
  const other = /^\d{1,9}$/.test(facts[SILENCE] ?? '') ? Number(facts[SILENCE]) : 0
  return Math.max(silenceMs, other)
}

const HEX = /^[0-9a-f]*$/
const NONCE_BYTES = 16
const nonceText = text(2 * NONCE_BYTES, new RegExp(`^[0-9a-f]{${2 * NONCE_BYTES}}$`))
const proofText = text(64, HEX)
const MOST_ENTRIES = 64
const words = record(text(MAX_HELLO_BYTES), MOST_ENTRIES)
/** More processes than any job has. */
const MAX_RANK = 1_000_000

const readChallenge = fields<Challenge>({
  magic: text(16),
  version: whole(0, 1_000_000),
  nonce: text(2 * NONCE_BYTES, HEX),
  no: optional(truth),
})
const readClientProof: Reader<ClientProof | OtherVersion> = (value, at) => {
  const { version } = (value ?? {}) as { readonly version?: unknown }
  if (typeof version === 'number' && version !== PROTOCOL_VERSION) return { version }
  return fields<ClientProof>({ version: whole(0, 1_000_000), nonce: nonceText, proof: proofText })(value, at)
}
const readServerProof = fields<ServerProof>({ proof: optional(proofText) })
const readHello = fields<Hello>({
  jobId: text(1024),
  role: oneOf(ROLES),
  rank: whole(0, MAX_RANK),
  agreement: words,
  facts: words,
  proof: proofText,
})
const readAnswer = fields<Answer>({
  hello: optional(readHello),
  refused: optional(fields<Refusal>({ refusal: text(4096), hint: text(4096) })),
})

/** The client's half. `who` names the server in errors. */
export async function clientHandshake(
  connection: Connection,
  who: string,
  own: Identity,
  facts: Readonly<Record<string, string>> = {},
): Promise<PeerIdentity> {
  let isSilent = true
  const inbox = openInbox(connection, who, {
    closed: (cause) => (isUserError(cause) ? cause : closedEarly(who, cause, isSilent && !connection.binding)),
    bad: () => refused(who, 'it is not an Oarfish server', 'check the address'),
  })
  const nonce = newNonce()
  const challenge = await inbox.next('challenge', readChallenge)
  isSilent = false
  if (challenge.magic !== MAGIC) throw refused(who, 'it is not an Oarfish server', 'check the address')
  if (challenge.version !== PROTOCOL_VERSION) throw refused(who, versionReason(challenge.version), SAME_VERSION)
  if (challenge.no) throw refused(who, NOT_NAMED, SAME_TOKEN)
  const session = sessionOf(own.token, challenge.nonce, nonce, connection)
  say(connection, { version: PROTOCOL_VERSION, nonce, proof: session('client', '') } satisfies ClientProof)
  const { proof } = await inbox.next('proof', readServerProof)
  if (proof === undefined) throw refused(who, 'its job token differs', SAME_TOKEN)
  if (!isSame(proof, session('server', ''))) throw refused(who, 'it does not know the job token', SAME_TOKEN)
  say(
    connection,
    signed(own, facts, (content) => session('client', content)),
  )
  const { hello, refused: reason } = await inbox.next('answer', readAnswer, ANSWER_TIMEOUT_MS)
  if (reason) throw refused(who, printable(reason.refusal), printable(reason.hint))
  if (!hello || !isSame(hello.proof, session('server', contentOf(hello))))
    throw refused(who, 'its answer was altered on the way', 'encrypt the connections: runner.tls: auto')
  inbox.close()
  return hello
}

/** The server's half: resolves to who the client is; a client that does not belong is rejected, with the reason. */
export async function serverHandshake(
  connection: Connection,
  own: Identity,
  /** Says why a client that belongs to the job is still not wanted. */
  objection: (peer: PeerIdentity) => Refusal | undefined = () => undefined,
  /** What the answer says about this server. */
  facts: (peer: PeerIdentity) => PeerIdentity['facts'] = () => ({}),
): Promise<PeerIdentity> {
  const { remote } = connection
  const bad = ({ message }: Error) =>
    stranger(remote, `it does not speak as a process of a job does (${printable(message)})`, CHECK_CLIENT)
  const inbox = openInbox(connection, remote, {
    closed: (cause) =>
      isLeaving(cause) ? new PortProbe(remote, cause) : isNoFrame(cause) ? bad(cause) : closedEarly(remote, cause),
    bad,
  })
  const nonce = newNonce()
  say(connection, { magic: MAGIC, version: PROTOCOL_VERSION, nonce } satisfies Challenge)
  const client = await inbox.next('proof', readClientProof)
  if (client.proof === undefined) {
    say(connection, {} satisfies ServerProof)
    throw stranger(remote, versionReason(client.version), SAME_VERSION)
  }
  const session = sessionOf(own.token, nonce, client.nonce, connection)
  if (!isSame(client.proof, session('client', ''))) {
    say(connection, {} satisfies ServerProof)
    throw stranger(remote, 'its job token differs', SAME_TOKEN)
  }
  say(connection, { proof: session('server', '') } satisfies ServerProof)
  const hello = await inbox.next('hello', readHello)
  if (!isSame(hello.proof, session('client', contentOf(hello))))
    throw stranger(remote, 'its hello was altered on the way', 'encrypt the connections: runner.tls: auto')
  const problem = whyNot(hello, own) ?? objection(hello)
  if (problem) {
    say(connection, { refused: problem } satisfies Answer)
    throw stranger(`${hello.role}[${hello.rank}] at ${remote}`, printable(problem.refusal), problem.hint)
  }
  say(connection, { hello: signed(own, facts(hello), (content) => session('server', content)) } satisfies Answer)
  inbox.close()
  return hello
}

/** Says no to a connection before it has said anything. */
export function sendNo(connection: Connection): void {
  say(connection, { magic: MAGIC, version: PROTOCOL_VERSION, nonce: '', no: true } satisfies Challenge)
  connection.close()
}

/** A connection that was closed before any frame came: a launcher or a scheduler that checks whether the port answers. */
export class PortProbe extends Error {
  constructor(who: string, cause: unknown) {
    super(`${who} left without a word`, { cause })
    this.name = 'PortProbe'
  }
}

const isLeaving = (cause: unknown) =>
  cause === undefined || ['ECONNRESET', 'EPIPE'].includes((cause as NodeJS.ErrnoException).code ?? '')

/** Not the system's, nor of the encryption: this side has closed, since what came is no frame. */
const isNoFrame = (cause: unknown): cause is Error => cause instanceof Error && !('code' in cause)

/** `mayEncrypt`: it has waited for the keys of an encryption, and this side for its first word. */
const closedEarly = (who: string, cause: unknown, mayEncrypt = false): Error =>
  peerLost(who, `it closed the connection during the hello${mayEncrypt ? MAY_ENCRYPT : ''}`, cause)
const MAY_ENCRYPT = ', without a word: if it encrypts (runner.tls, OARFISH_TLS), this process must too'

const CHECK_CLIENT = 'find out what connects to this port: it is no process of this version of oarfish'
const SAME_VERSION = 'install the same version of oarfish on every host'
const SAME_TOKEN = 'set the same OARFISH_JOB_TOKEN for every process of the job'
const NOT_NAMED = 'the job does not name the address of this host, and without a token it lets in no other'

/** Asked of one that has proved the token: it may know why. */
function whyNot(hello: Hello, own: Identity): Refusal | undefined {
  if (hello.role === 'observer') return undefined
  if (hello.jobId !== own.jobId)
    return {
      refusal: `it belongs to job "${hello.jobId}", this server to job "${own.jobId}"`,
      hint: 'two jobs share this address: give one of them other ports',
    }
  for (const [name, value] of Object.entries(own.agreement)) {
    if (hello.agreement[name] !== value)
      return {
        refusal: `its ${name} differs (${hello.agreement[name] ?? 'none'} there, ${value} at ${own.role}[${own.rank}])`,
        hint: `start every process with the same ${name}`,
      }
  }
  return undefined
}

function versionReason(version: unknown): string {
  return `protocol version ${String(version)} does not fit version ${PROTOCOL_VERSION}`
}

type Prove = (side: 'client' | 'server', content: string) => string

/**
 * Keyed by the token, over numbers that both sides drew just now, so that nothing overheard can be used again; over the side, so that
 * nothing can be sent back; and over the keys of the encryption where there is one, so that nobody can stand between.
 */
function sessionOf(token: string, serverNonce: string, clientNonce: string, { binding = '' }: Connection): Prove {
  return (side, content) =>
    createHmac('sha256', token)
      .update(JSON.stringify([MAGIC, PROTOCOL_VERSION, side, serverNonce, clientNonce, binding, content]))
      .digest('hex')
}

function signed(own: Identity, facts: PeerIdentity['facts'], prove: (content: string) => string): Hello {
  const { jobId, role, rank, agreement, silenceMs = SILENCE_MS } = own
  const hello = {
    jobId,
    role,
    rank,
    agreement,
    facts: { ...facts, [SILENCE]: String(Math.round(silenceMs)) },
    proof: '',
  }
  return { ...hello, proof: prove(contentOf(hello)) }
}

/** The same text on both sides, whatever the order of the fields. */
function contentOf({ jobId, role, rank, agreement, facts }: Hello): string {
  const sorted = (some: PeerIdentity['facts']) => Object.entries(some).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([jobId, role, rank, sorted(agreement), sorted(facts)])
}

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex')
}

function say(connection: Connection, content: object): void {
  connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(content))])
}

interface InboxErrors {
  readonly closed: (cause: unknown) => Error
  readonly bad: (error: BadMessage) => Error
}

/** Hello frames one at a time, each within the deadline. */
function openInbox(connection: Connection, who: string, { closed, bad }: InboxErrors) {
  const frames: Frame[] = []
  let failure: Error | undefined
  let wake = () => {}
  connection.listen({
    frame: (frame) => {
      frames.push(frame)
      wake()
    },
    closed: (error) => {
      failure = closed(error)
      wake()
    },
  })
  const next = async <T>(what: string, read: Reader<T>, timeoutMs = HANDSHAKE_TIMEOUT_MS): Promise<T> => {
    let isOver = false
    const fail = () => {
      if (isOver) return
      failure ??= peerLost(who, `no hello in ${timeoutMs} ms`)
      wake()
    }
    // A thread that was busy so long sees its timers first: what has come meanwhile is read before anybody is given up.
    const late = setTimeout(() => setImmediate(() => setImmediate(fail)), timeoutMs)
    while (frames.length === 0 && !failure) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    isOver = true
    clearTimeout(late)
    const frame = frames.shift()
    if (!frame) throw failure!
    try {
      checkMessage(frame.type === 'hello', `a ${frame.type} before the ${what}`)
      return readJson(frame.body, what, read)
    } catch (error) {
      throw error instanceof BadMessage ? bad(error) : error
    }
  }
  const close = () => {
    connection.limit(MAX_FRAME_BYTES)
    // One that ends at once says so right behind its answer, and may be read in the same piece.
    connection.unlisten?.(frames)
  }
  return { next, close }
}
