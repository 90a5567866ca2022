/** @file Encrypted sockets: both sides show a certificate that the job's authority has signed. */
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect, createServer, type TLSSocket } from 'node:tls'
import { refused } from './errors.ts'
import type { TlsKeys } from './tls-keys.ts'
import type { Door } from './transport.ts'

/** Less than the patience of one that does not encrypt: so it hears that it is refused, and says so. */
const HANDSHAKE_MS = 6 * 1000
// Either end is of this package; this one is the fastest where the processor has instructions for it.
const COMMON = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256' } as const
/** What is exported is for this purpose alone. */
const BINDING_LABEL = 'EXPORTER-oarfish-job'
const BINDING_BYTES = 32

export interface AcceptorOptions {
  readonly keys: TlsKeys
  readonly door: Door | undefined
  readonly opened: (socket: Socket) => void
  readonly remoteOf: (socket: Socket) => string
}

/** Takes sockets as they come in, and hands them on when both sides have shown their certificates. */
export function tlsAcceptor({ keys, door, opened, remoteOf }: AcceptorOptions): (socket: Socket) => void {
  const options = { ...COMMON, ...keys, requestCert: true, rejectUnauthorized: true, handshakeTimeout: HANDSHAKE_MS }
  /** By where they come from: those whose certificates are being looked at. */
  const entering = new Map<string, () => void>()
  const entered = (remote: string) => {
    entering.get(remote)?.()
    entering.delete(remote)
  }
  const server = createServer(options, (socket) => {
    entered(remoteOf(socket))
    socket.setNoDelay(true)
    opened(socket)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const isProbe = ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
    if (!isProbe) door?.refused(remoteOf(socket), tlsProblem(remoteOf(socket), error) ?? error)
    socket.destroy()
  })
  return (socket) => {
    const remote = remoteOf(socket)
    entering.set(remote, door?.entering(remote) ?? (() => undefined))
    socket.once('close', () => entered(remote))
    socket.on('error', () => socket.destroy())
    server.emit('connection', socket)
  }
}

const INLET_BYTES = 64 * 1024

/** What an encrypted socket receives, record by record in one buffer: a new one for each costs a fifth of all the reading. */
export class Inlet {
  #early: Uint8Array[] = []
  #take: (piece: Uint8Array) => void = (piece) => void this.#early.push(Uint8Array.from(piece))

  readonly onread = {
    buffer: Buffer.allocUnsafeSlow(INLET_BYTES),
    callback: (bytes: number, buffer: Uint8Array) => {
      this.#take(buffer.subarray(0, bytes))
      return true
    },
  }

  /** `take` is given each piece as it comes, and must not keep it. */
  open(take: (piece: Uint8Array) => void): void {
    this.#take = take
    for (const piece of this.#early.splice(0)) take(piece)
  }
}

/**
 * For the side that cannot have an inlet, since Node makes its encrypted socket: an inlet all the same, put where Node keeps those of its own. What
 * came before waits in the stream, and goes to `take` first.
 */
export function readDirectly(socket: Socket, take: (piece: Uint8Array) => void): void {
  socket.on('data', take)
  if (!hasInlet(socket, take)) pastQueue(socket, take)
}

/** What Node's sockets have inside, by the names they have there; another version may have others. */
interface Inside {
  [part: symbol]: unknown
  readonly _handle?: { useUserBuffer?(buffer: Uint8Array): void } | null
}

function hasInlet(socket: Socket, take: (piece: Uint8Array) => void): boolean {
  const inside = socket as unknown as Inside
  const part = (name: string) => Object.getOwnPropertySymbols(socket).find(({ description }) => description === name)
  const [buffer, callback] = [part('kBuffer'), part('kBufferCb')]
  if (!buffer || !callback || !inside._handle?.useUserBuffer) return false
  const inlet = new Inlet()
  inlet.open(take)
  inside[buffer] = inlet.onread.buffer
  inside[callback] = inlet.onread.callback
  inside._handle.useUserBuffer(inlet.onread.buffer)
  return true
}

/** The next best way: past the stream's own queue, which takes a tenth of the reading. What comes while the stream is paused waits there. */
function pastQueue(socket: Socket, take: (piece: Uint8Array) => void): void {
  const queue = socket.push
  socket.push = (piece: Uint8Array | null) => {
    if (piece === null || socket.isPaused() || socket.readableLength > 0) return queue.call(socket, piece)
    take(piece)
    return true
  }
}

/** Which host a certificate is for is not asked: the token is proved over this very connection (see the handshake). */
export function connectTls(
  { host, port }: { readonly host: string; readonly port: number },
  keys: TlsKeys,
  { onread }: Inlet,
): Socket {
  // Node's types know `onread` of plain sockets only.
  const options: ConnectionOptions & Pick<Inlet, 'onread'> = {
    ...COMMON,
    ...keys,
    host,
    port,
    onread,
    rejectUnauthorized: true,
    checkServerIdentity: () => undefined,
  }
  const socket = connect(options)
  socket.setNoDelay(true)
  return socket
}

/** Undefined for a socket that is not encrypted. */
export function bindingOf(socket: Socket): string | undefined {
  const { exportKeyingMaterial } = socket as Partial<TLSSocket>
  if (!exportKeyingMaterial) return undefined
  return exportKeyingMaterial.call(socket, BINDING_BYTES, BINDING_LABEL, Buffer.alloc(0)).toString('hex')
}

const UNTRUSTED = /CERT|SIGNATURE|ISSUER|ALERT/

/** What went wrong with the encryption, in words; undefined for anything else. */
export function tlsProblem(who: string, error: Error): Error | undefined {
  const { code = '' } = error as NodeJS.ErrnoException
  const isTls = code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || UNTRUSTED.test(code)
  if (!isTls) return undefined
  const { reason, hint } = REASONS.find(({ form }) => form.test(code)) ?? NOT_BOTH
  return refused(who, `${reason} (${error.message.trim()})`, hint)
}

/** By the code of the error; the first that fits. An alert is what the other side says of this one's certificate. */
const REASONS = [
  {
    form: /EXPIRED/,
    reason: 'the certificate of one side has expired, or that of its authority',
    hint: 'make new certificates (openssl x509 -noout -enddate -in CERT.pem tells until when one is good), and start the job again',
  },
  {
    form: /NOT_YET_VALID/,
    reason: 'the certificate of one side is not good yet',
    hint: 'compare the clocks of both hosts: date -u',
  },
  {
    form: UNTRUSTED,
    reason: 'one of both certificates is not signed by the authority of the other side',
    hint: 'give every process of the job the same OARFISH_JOB_TOKEN, or certificates of the same authority',
  },
] as const
const NOT_BOTH = {
  reason: 'one side encrypts and the other does not',
  hint: 'set the same runner.tls (or OARFISH_TLS) for every process of the job',
} as const
