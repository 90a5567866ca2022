/**
 * @file Signs of life of ranks, beside MPI, whose calls wait for ever for a rank that is frozen: each rank hears its two neighbours, and when one falls silent
 * it ends, for which mpirun ends all.
 */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { processEnv } from '../../../base/env/index.ts'
import { noteForLauncher } from '../../../base/event/index.ts'
import {
  fields,
  Liveness,
  openPulse,
  optional,
  type Pulse,
  type PulsePlace,
  reachableAddress,
  text,
} from '../../../base/net/index.ts'
import { formatUserError, leaveNow, type UserError } from '../../../base/util/index.ts'
import { rankSilent } from '../errors.ts'
import { allGatherJson, type Group } from '../group.ts'

export interface RankWatchOptions {
  readonly group: Pick<Group, 'rank' | 'size' | 'broadcast' | 'allGather'>
  /** How long a rank may be silent. */
  readonly silenceMs: number
  readonly notice: (message: string) => void
  /** A rank has been silent for longer. @default this process ends, which says so */
  readonly onSilent?: ((error: UserError) => void) | undefined
}

export interface RankWatch {
  /** When all ranks have come to their end. */
  close(): Promise<void>
}

interface Place {
  readonly host: string
  readonly pulse?: PulsePlace | undefined
}

const readPlace = fields<Place>({
  host: text(300),
  pulse: optional(fields<PulsePlace>({ endpoint: text(300), path: optional(text(300)) })),
})

const LOOK_MS = 500
/** Of the secret by which ranks of this mpirun know each other. */
const TOKEN_BYTES = 32
const USER_ERROR = 2

/** Every rank calls it. A rank that was never heard is not watched: its port may be closed between the hosts, which is said. */
export async function watchRanks(options: RankWatchOptions): Promise<RankWatch> {
  const { group, silenceMs, notice, onSilent = leave } = options
  const { rank, size } = group
  const pulse = await openPulse({
    identity: { jobId: 'mpi', token: await sharedToken(group), role: 'worker', rank, agreement: {} },
    others: size,
    host: reachableAddress(),
    onWarning: notice,
  })
  const places = await allGatherJson<Place>(group, { host: hostname(), pulse: pulse?.place }, readPlace)
  const nameOf = (other: number) => `rank ${other} of ${size} (${places[other]!.host})`
  const before = (rank + size - 1) % size
  const place = places[before]!.pulse
  // Of two ranks one connection is enough: both sides are heard over it.
  if (place && !(size === 2 && rank === 0))
    pulse?.hear({ ...place, other: before, who: nameOf(before), unheard: UNHEARD })
  const watched = [...new Set([before, (rank + 1) % size])].map((other) => {
    const own = { who: nameOf(other), deadAfterMs: silenceMs, stuckAfterMs: Number.POSITIVE_INFINITY, onStuck: notice }
    return { other, isHeard: false, liveness: new Liveness({ ...own, pulse: pulse && (() => pulse.of(other)) }) }
  })
  const timer = setInterval(() => {
    for (const each of pulse ? watched : []) lookAt(each, pulse!, onSilent)
  }, LOOK_MS).unref()
  return {
    close: async () => {
      clearInterval(timer)
      await pulse?.close()
    },
  }
}

interface Watched {
  readonly other: number
  readonly liveness: Liveness
  beats?: number
}

function lookAt(watched: Watched, pulse: Pulse, onSilent: (error: UserError) => void): void {
  const { beats } = pulse.of(watched.other)
  if (beats === 0) return
  // There is no other connection: a sign of life is all that comes.
  if (beats !== watched.beats) watched.liveness.received()
  watched.beats = beats
  const error = watched.liveness.look(0)
  if (error) onSilent(rankSilent(error as UserError))
}

async function sharedToken({ rank, broadcast }: RankWatchOptions['group']): Promise<string> {
  const bytes = rank === 0 ? new Uint8Array(randomBytes(TOKEN_BYTES)) : new Uint8Array(TOKEN_BYTES)
  await broadcast(bytes)
  return Buffer.from(bytes).toString('hex')
}

/** The thread that talks to MPI waits inside the library for the one that is silent: what ends this rank ends it too. */
function leave(error: UserError): void {
  noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'lost')
  writeSync(2, `${formatUserError(error)}\n`)
  leaveNow(USER_ERROR)
}

const UNHEARD = 'one that is frozen is then not noticed. Open its ports between the hosts'
