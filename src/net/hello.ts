/** @file The first words on a connection: both sides prove that they belong to the same job before anything else is said. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { peerLost, refused, stranger } from './errors.ts'
import { type Connection, type Frame, MAX_FRAME_BYTES } from './transport.ts'

const MAGIC = 'oarfish'
/** Raised whenever frames or messages change: processes of different versions must not train together. */
export const PROTOCOL_VERSION = 1
const HELLO_TIMEOUT_MS = 10 * 1000

/** Who a process says it is. */
export interface Identity {
  readonly jobId: string
  /** Never sent: it keys the proof. */
  readonly token: string
  /** An observer looks at a job without being part of it: it need not know its configuration. */
  readonly role: 'worker' | 'server' | 'observer'
  readonly rank: number
  /** What both sides must agree on besides the job, by name: configuration, program, number of workers. */
  readonly agreement: Readonly<Record<string, string>>
}

/** What the other side has proved to be; `facts` is what it told about itself. */
export interface PeerIdentity extends Omit<Identity, 'token'> {
  readonly facts: Readonly<Record<string, string>>
}

interface Challenge {
  readonly magic: string
  readonly version: number
  readonly nonce: string
  /** For observers, who are told only an address. */
  readonly jobId: string
}
type Hello = Challenge & PeerIdentity & { readonly proof: string }
export interface Refusal {
  readonly refusal: string
  readonly hint: string
}
type Answer = Hello | Refusal

/** The client's half. `who` names the server in errors. */
export async function sayHello(
  connection: Connection,
  who: string,
  own: Identity,
  facts: Readonly<Record<string, string>> = {},
): Promise<PeerIdentity> {
  const inbox = openInbox(connection, who)
  const nonce = newNonce()
  const challenge = await inbox.next<Challenge>()
  if (challenge.magic !== MAGIC) throw refused(who, 'it is not an Oarfish server', 'check the address')
  if (challenge.version !== PROTOCOL_VERSION) throw refused(who, versionReason(challenge.version), SAME_VERSION)
  const jobId = own.role === 'observer' ? challenge.jobId : own.jobId
  say(connection, signed({ ...own, jobId }, facts, nonce, challenge.nonce))
  const answer = await inbox.next<Answer>()
  if ('refusal' in answer) throw refused(who, answer.refusal, answer.hint)
  if (!proves(answer, own.token, nonce)) throw refused(who, 'it does not know the job token', SAME_TOKEN)
  inbox.close()
  return answer
}

/** The server's half: resolves to who the client is; a client that does not belong is told why and rejected. */
export async function hearHello(
  connection: Connection,
  own: Identity,
  /** Says why a client that belongs to the job is still not wanted. */
  objection: (peer: PeerIdentity) => Refusal | undefined = () => undefined,
  /** What the client is told in turn. */
  facts: (peer: PeerIdentity) => PeerIdentity['facts'] = () => ({}),
): Promise<PeerIdentity> {
  const inbox = openInbox(connection, connection.remote, (cause) =>
    isLeaving(cause) ? new SilentCaller(connection.remote, cause) : closedEarly(connection.remote, cause),
  )
  const nonce = newNonce()
  say(connection, { magic: MAGIC, version: PROTOCOL_VERSION, nonce, jobId: own.jobId } satisfies Challenge)
  const hello = await inbox.next<Hello>()
  const problem = whyNot(hello, own, nonce) ?? objection(hello)
  if (problem) {
    say(connection, problem)
    throw stranger(`${hello.role}[${hello.rank}] at ${connection.remote}`, problem.refusal, problem.hint)
  }
  say(connection, signed(own, facts(hello), newNonce(), hello.nonce))
  inbox.close()
  return hello
}

/** Somebody connected and left without a word: a launcher or a scheduler that looks whether the port answers. */
export class SilentCaller extends Error {
  constructor(who: string, cause: unknown) {
    super(`${who} left without a word`, { cause })
    this.name = 'SilentCaller'
  }
}

const isLeaving = (cause: unknown) =>
  cause === undefined || ['ECONNRESET', 'EPIPE'].includes((cause as NodeJS.ErrnoException).code ?? '')

const closedEarly = (who: string, cause: unknown): Error =>
  peerLost(who, 'it closed the connection during the hello', cause)

const SAME_VERSION = 'install the same version of oarfish on every host'
const SAME_TOKEN = 'set the same OARFISH_JOB_TOKEN for every process of the job'

function whyNot(hello: Hello, own: Identity, nonce: string): Refusal | undefined {
  if (hello.magic !== MAGIC || hello.version !== PROTOCOL_VERSION)
    return { refusal: versionReason(hello.version), hint: SAME_VERSION }
  if (hello.jobId !== own.jobId)
    return {
      refusal: `it belongs to job "${hello.jobId}", this server to job "${own.jobId}"`,
      hint: 'two jobs share this address: give one of them other ports',
    }
  if (!proves(hello, own.token, nonce)) return { refusal: 'its job token differs', hint: SAME_TOKEN }
  if (hello.role === 'observer') return undefined
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

function signed({ token, ...own }: Identity, facts: PeerIdentity['facts'], nonce: string, theirs: string): Hello {
  const unsigned = { magic: MAGIC, version: PROTOCOL_VERSION, nonce, ...own, facts, proof: '' }
  return { ...unsigned, proof: proofOf(unsigned, token, theirs) }
}

function proves(hello: Hello, token: string, nonce: string): boolean {
  const [given, right] = [Buffer.from(String(hello.proof)), Buffer.from(proofOf(hello, token, nonce))]
  return given.length === right.length && timingSafeEqual(given, right)
}

/** Keyed by the token and by a number the other side drew just now, so that it cannot be overheard and used again. */
function proofOf({ proof: _, ...rest }: Hello, token: string, nonce: string): string {
  const fields = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHmac('sha256', token).update(nonce).update(JSON.stringify(fields)).digest('hex')
}

function newNonce(): string {
  return randomBytes(16).toString('hex')
}

function say(connection: Connection, words: object): void {
  connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(words))])
}

/** Hello frames one at a time, each within the deadline. */
function openInbox(connection: Connection, who: string, closed = (cause: unknown) => closedEarly(who, cause)) {
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
  const next = async <T>(): Promise<T> => {
    const late = setTimeout(() => {
      failure ??= peerLost(who, `no hello in ${HELLO_TIMEOUT_MS} ms`)
      wake()
    }, HELLO_TIMEOUT_MS)
    while (frames.length === 0 && !failure) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    clearTimeout(late)
    const frame = frames.shift()
    if (!frame) throw failure!
    if (frame.type !== 'hello') throw refused(who, 'its first words were no hello', 'check the address')
    return JSON.parse(Buffer.from(frame.body).toString('utf8')) as T
  }
  return { next, close: () => connection.limit(MAX_FRAME_BYTES) }
}
