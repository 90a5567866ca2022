/** @file A server's half of the set-up: hears all trainers, and notices when one is gone before it has joined the job. */
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import {
  type Connection,
  hearHello,
  Peer,
  type PeerIdentity,
  type Refusal,
  SilentCaller,
  socketTransport,
} from '../net/index.ts'
import { isUserError, type UserError } from '../util/index.ts'
import { setUpError, trainersText } from './errors.ts'
import {
  BUSY_MS,
  disagreement,
  identityOf,
  type Ports,
  SET_UP_METHODS,
  type SetUp,
  START_TIMEOUT_MS,
  TRAINERS,
} from './set-up.ts'

export interface HearOptions {
  readonly endpoint: string
  /** How many must come. @default what the first of them says */
  readonly trainers?: number
  readonly options: Ports
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** @default 5 minutes */
  readonly startTimeoutMs?: number
}

export interface HeardSetUp extends SetUp {
  /** Aborted with the reason when a trainer is gone that has not joined the job yet. */
  readonly lost: AbortSignal
}

/** A trainer that said why it ends is about to: a launcher is to see it end before those who only heard of it. */
const LAST_WORDS_MS = 1500
/** Trainers that are started together come within seconds of each other. */
const TELL_AWAITED_MS = 5000

/** Resolves when all trainers have come and agree. Rejects when one differs, is gone, or does not come. */
export function hearTrainers(given: HearOptions): Promise<HeardSetUp> {
  const { endpoint, options, env, emit, signal, startTimeoutMs = START_TIMEOUT_MS } = given
  const identity = identityOf(options, env, 'server', 0)
  const come = new Map<number, { readonly told: SetUp; readonly answer: (error?: Error) => void }>()
  const here = new Map<number, Peer>()
  const lost = new AbortController()
  let { trainers } = given
  const without = (some: { has(rank: number): boolean }) =>
    Array.from({ length: trainers ?? 0 }, (_, rank) => rank).filter((rank) => !some.has(rank))
  const awaited = () => {
    const absent = without(here)
    return absent.length > 0
      ? `Waiting for ${trainersText(absent)} to come.`
      : `Waiting for ${trainersText(without(come))}, still at its configuration.`
  }
  let slow: NodeJS.Timeout | undefined
  return new Promise((resolve, reject) => {
    let isOver = false
    const end = (error?: Error) => {
      if (isOver) return
      isOver = true
      clearTimeout(late)
      clearTimeout(slow)
      signal.removeEventListener('abort', stop)
      void listening.then(
        (listener) => listener.close(),
        () => undefined,
      )
      for (const { answer } of come.values()) answer(error)
      if (error) {
        for (const peer of here.values()) peer.abort(error)
        reject(error)
      } else resolve({ ...come.get(0)!.told, lost: lost.signal })
    }
    const stop = () =>
      end(setUpError('The server was told to stop before its trainers had come.', 'Start the job again.'))
    const hear = (rank: number, told: SetUp, answer: (error?: Error) => void) => {
      come.set(rank, { told, answer })
      if (without(come).length === 0)
        end(disagreement([...come].sort(([a], [b]) => a - b).map(([trainer, { told: own }]) => [trainer, own])))
    }
    const gone = (who: string, error: Error) => {
      const wasKilled = isUserError(error) && error.code === 'NET_PEER_LOST'
      const reason = wasKilled ? error : failedBefore(who, error)
      const tell = () => {
        lost.abort(reason)
        end(reason)
      }
      if (wasKilled) tell()
      else setTimeout(tell, LAST_WORDS_MS)
    }
    const admit = async (connection: Connection) => {
      let stranger: UserError | undefined
      const objection = ({ rank, facts }: PeerIdentity): Refusal | undefined => {
        if (here.has(rank))
          return { refusal: `there is a trainer ${rank} already`, hint: 'give every trainer a --trainer_id of its own' }
        const said = Number(facts[TRAINERS])
        trainers ??= said
        if (said === trainers) return undefined
        stranger = otherNumber(`trainer[${rank}] ${connection.remote}`, said, trainers)
        return { refusal: `it was told of ${said} trainers, this job has ${trainers}`, hint: stranger.hint! }
      }
      const { rank } = await hearHello(connection, identity, objection).finally(() => stranger && end(stranger))
      slow ??= setTimeout(() => emit({ kind: 'notice', message: awaited() }), TELL_AWAITED_MS)
      const who = `trainer[${rank}] ${connection.remote}`
      const handle = (method: number, body: Uint8Array) => {
        if (method === SET_UP_METHODS.awaited) return [Buffer.from(awaited())]
        return new Promise<readonly Uint8Array[]>((answered, failed) => {
          const told = JSON.parse(Buffer.from(body).toString('utf8')) as SetUp
          hear(rank, told, (error) => (error ? failed(error) : answered([])))
        })
      }
      here.set(rank, new Peer(connection, { who, deadAfterMs: BUSY_MS, handle, onLost: (error) => gone(who, error) }))
    }
    const accept = (connection: Connection) => {
      admit(connection).catch((error: unknown) => {
        connection.close()
        if (!(error instanceof SilentCaller))
          emit({ kind: 'warning', message: `A connection was refused: ${(error as Error).message}` })
      })
    }
    const listening = socketTransport.listen(endpoint, accept)
    const late = setTimeout(() => end(tooLate(without(come), startTimeoutMs)), startTimeoutMs)
    signal.addEventListener('abort', stop)
    listening.then(
      () => emit({ kind: 'notice', message: `The server waits for its trainers at ${endpoint}.` }),
      (error: Error) =>
        end(
          setUpError(
            `The server cannot listen at ${endpoint}: ${error.message}.`,
            'Give another --port to every process of the job, or end what listens there.',
            error,
          ),
        ),
    )
  })
}

function failedBefore(who: string, error: Error): Error {
  const withoutStack = error.message.replaceAll(/\n\s+at .*/g, '')
  return setUpError(
    `${who} ended before the job had begun: ${withoutStack}`,
    'Its own output and log have more; start the job again when it is mended.',
    error,
  )
}

function otherNumber(who: string, said: number, trainers: number): UserError {
  return setUpError(
    `${who} was told of ${said} trainers, this job has ${trainers}.`,
    'Give every process the same --num_gradient_servers.',
  )
}

function tooLate(missing: readonly number[], timeoutMs: number): Error {
  const who = missing.length > 0 ? `${trainersText(missing)} did not come` : 'No trainer came'
  return setUpError(
    `${who} in ${timeoutMs / 1000} s.`,
    'Start every trainer, and check that it reaches this host at --port.',
  )
}
