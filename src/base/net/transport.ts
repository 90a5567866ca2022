/** @file The seam of the network: frames over connections. Nothing here knows what a frame means. */
import type { TlsKeys } from './tls-keys.ts'

export const FRAME_TYPES = { hello: 1, request: 2, response: 3, failure: 4, ping: 5, abort: 6, bye: 7 } as const
export type FrameType = keyof typeof FRAME_TYPES

/** What a frame says about itself; `method` and `id` belong to requests and their answers. */
export interface FrameHead {
  readonly type: FrameType
  readonly method: number
  readonly id: number
}

/** A received frame. The body starts at a multiple of 8 bytes. */
export interface Frame extends FrameHead {
  readonly body: Uint8Array<ArrayBuffer>
  /** The body lies in memory that is used again: to be called when it is done with. Without it the body is the receiver's own. */
  readonly release?: () => void
}

export interface ConnectionListener {
  frame(frame: Frame): void
  /** Called once; without an error when the other side ended in good order. */
  closed(error: Error | undefined): void
}

/** A two-way stream of frames. Frames arrive whole, in order and unchanged, or the connection closes with an error. */
export interface Connection {
  /** Where the other side is, for messages. */
  readonly remote: string
  /** Of an encrypted connection: what only its two ends can know. */
  readonly binding?: string | undefined
  /** Sends one frame whose body is `parts` back to back. They must stay as they are until the frame is answered, unless it `copies`. */
  send(head: FrameHead, parts: readonly Uint8Array[]): void
  /** What was given to send may change as soon as it has returned. */
  readonly copies: boolean
  /** Bytes given to send that the system has not taken yet. */
  readonly queuedBytes: number
  /** Bytes that came so far, also those of a frame that is not whole yet. Transports that deliver frames at once lack this. */
  readonly receivedBytes?: number
  /** Starts delivery; frames that came before wait. */
  listen(listener: ConnectionListener): void
  /** Stops delivery, and takes back what was delivered too early: the next listener gets it first. Connections on which no hello is said lack this. */
  unlisten?(unread: readonly Frame[]): void
  /** Longest body that is accepted from now on. */
  limit(bytes: number): void
  /** While paused, frames stay with the sender. */
  pause(): void
  resume(): void
  /** Whether this connection keeps the process alive, as it does at first. Transports that never do lack this. */
  hold?(alive: boolean): void
  close(): void
  /** After `close`: resolves when the system has taken all that was sent. A thread that is ended before takes it along. */
  drained(): Promise<void>
}

export interface Listener {
  /** host:port, with the port the system chose where 0 was asked for. */
  readonly endpoint: string
  close(): Promise<void>
}

export interface ListenOptions {
  /** A listening socket inherited from the launcher, used instead of opening one. */
  readonly descriptor?: number | undefined
  /** Encrypts what is not a unix socket. @default plain */
  readonly tls?: TlsKeys | undefined
  /** Who may come in. @default everybody */
  readonly door?: Door | undefined
}

/** Looks at connections, by where they come from, before anything is spent on them. */
export interface Door {
  readonly isWanted: (remote: string) => boolean
  /** One whose keys are being looked at; what it returns is called when they have been. */
  readonly entering: (remote: string) => () => void
  /** One that does not belong here. */
  readonly refused: (remote: string, error: unknown) => void
  /** One that was closed unheard: it is counted, nothing else. */
  readonly dropped: () => void
}

export interface ConnectOptions {
  readonly timeoutMs: number
  /** Encrypts what is not a unix socket. @default plain */
  readonly tls?: TlsKeys | undefined
}

export interface Transport {
  listen(endpoint: string, onConnection: (connection: Connection) => void, options?: ListenOptions): Promise<Listener>
  connect(endpoint: string, options: ConnectOptions): Promise<Connection>
}

export const KILOBYTE = 1024
export const MEGABYTE = 1024 * KILOBYTE
/** Longest body of a frame between processes of one job: about 3 million rows of 9 floats. */
export const MAX_FRAME_BYTES = 256 * MEGABYTE
/** Longest body before the handshake is done. */
export const MAX_HELLO_BYTES = 64 * KILOBYTE
