/** @file What a worker of a job with parameter servers does, whether it trains or evaluates: connects, passes over its part of the data, leaves. */

import type { Cluster } from '../../base/env/index.ts'
import type { EventOf } from '../../base/event/index.ts'
import { readJson, type Transport } from '../../base/net/index.ts'
import { blockOf, type Part } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { WorkerPlace } from '../../weights/snapshot/index.ts'
import {
  type Claim,
  encodeTurn,
  jobIdentity,
  METHODS,
  type PlaceRun,
  placesOfRuns,
  readChunk,
  ServerGroup,
  serverExchange,
} from '../ps/index.ts'
import {
  type DataFiles,
  type PassChanges,
  type PassOptions,
  type PassResult,
  type PassStart,
  type Phase,
  Runtime,
} from '../threads/index.ts'
import { readReport } from './gathered.ts'
import { type JobContext, runtimeOptions } from './job.ts'
import { keepPace } from './keep-pace.ts'
import { type ChunksRead, checkSplit, PassRecord, sumReports } from './pass-report.ts'
import { type AgreedInput, noticeTotal } from './worker-input.ts'
import type { WorkerMode, WorkerModeOptions } from './worker-mode.ts'

export interface ServersOptions {
  readonly cluster: Cluster
  readonly transport?: Transport | undefined
  /** How long a live server may take to answer. @default 3 minutes */
  readonly requestTimeoutMs?: number | undefined
  /** How long a server may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number | undefined
  /** Sends a request again when so long nothing came: for transports that lose frames. @default never */
  readonly retryMs?: number | undefined
}

/** A pass of which a part is over. */
interface OpenPass {
  /** Chunks that this worker has taken, in its order, or all it is to read; undefined where it reads its own block. */
  readonly claimed: number[] | undefined
  /** It takes more of them, one by one. */
  readonly claims: boolean
  /** Of its chunks, those whose first samples others have trained. */
  readonly begun: WorkerPlace['begun']
  /** What all workers had taken before the cut that the pass goes on from. */
  readonly taken: readonly PlaceRun[] | undefined
  readonly record: PassRecord
  /** How many parts were begun. */
  parts: number
}

/** What workers that train and workers that evaluate share. */
export abstract class WorkerJob<Context extends JobContext> {
  readonly role: NonNullable<EventOf<'start'>['job']>
  protected readonly context: Context
  protected readonly cluster: Cluster
  protected model!: TracedModel
  protected servers!: ServerGroup
  protected files!: DataFiles
  protected input!: AgreedInput
  protected mode!: WorkerMode
  protected runtime: Runtime | undefined
  /** How many examples there are is said after the first pass. */
  protected uncounted = false
  /** Where the workers were in the cut that the job goes on from. */
  protected restored: readonly WorkerPlace[] | undefined
  protected lastPass: OpenPass | undefined
  #isPaused = false
  /** Of its joins and leaves. */
  #turns = 0
  readonly #options: ServersOptions

  constructor(options: ServersOptions, context: Context, threads: number) {
    this.#options = options
    this.cluster = options.cluster
    this.context = context
    this.role = { role: 'worker', rank: options.cluster.rank, threads }
  }

  /** Connects to all servers. A process of the job that is gone ends the pass under way. */
  protected async connect(): Promise<void> {
    const { emit, stop } = this.context
    const { transport, requestTimeoutMs, startTimeoutMs, retryMs } = this.#options
    const options = {
      servers: this.cluster.servers,
      identity: this.identity,
      transport,
      requestTimeoutMs,
      startTimeoutMs,
      retryMs,
      onNotice: (message: string) => emit({ kind: 'notice', message }),
      onLost: (error: Error) => this.runtime?.fail(error),
      onHalt: () => stop.abort(),
    }
    this.servers = await openServers(options, stop.signal)
    // What they have learned is saved together, so all stop when one is asked to.
    const halt = () => this.servers.halt()
    stop.signal.addEventListener('abort', halt, { once: true })
    if (stop.signal.aborted) halt()
  }

  protected get modeOptions(): WorkerModeOptions {
    const { model, servers, identity } = this
    const { requestTimeoutMs } = this.#options
    const { config } = this.context.config
    return { config, model, servers, identity, workers: this.cluster.workerNum, requestTimeoutMs }
  }

  protected get identity() {
    return jobIdentity(this.cluster, this.context.config.config, this.model)
  }

  /** `own`: how readers differ from what the config says. */
  protected async openRuntime(shuffles: boolean, own: { readonly together?: boolean } = {}): Promise<void> {
    const { model, files, servers } = this
    const { rank, workerNum } = this.cluster
    const { params, pool, seed } = this.mode
    const trainers = { params, pool, seed, threads: this.role.threads }
    const input = { ...own, exchange: shuffles ? serverExchange(servers, rank, workerNum) : undefined }
    this.runtime = await Runtime.open({ ...runtimeOptions(this.context), model, files, trainers, input })
  }

  /** All workers begin together, read each its part, and add up what they have measured. */
  async pass(phase: Phase, epoch: number, from?: PassStart, pauses?: PassOptions['pauses']): Promise<PassResult> {
    const open = this.#isPaused ? this.lastPass! : this.#begin(phase, from)
    open.parts++
    const result = await this.#passPart(open, phase, epoch, { from, pauses })
    this.lastPass = open
    this.#isPaused = result.paused
    return result
  }

  /** The first training pass of workers that go on from a cut: each has taken chunks before it, also one that had not trained a batch. */
  #begin(phase: Phase, from: PassStart | undefined): OpenPass {
    const places = phase === 'train' ? this.restored : undefined
    if (places) this.restored = undefined
    const claims = this.input[phase] !== undefined && phase === 'train' && this.mode.takesOver
    const own = places?.[this.cluster.rank]
    const claimed = placesOfRuns(own?.claimed ?? [])
    const read = claimed.slice(0, from?.position.chunk)
    return {
      claimed: claims || own?.claimed ? claimed : undefined,
      claims,
      begun: own?.begun,
      taken: places?.flatMap((place) => place.claimed ?? []),
      record: new PassRecord(places === undefined || claims, read),
      parts: 0,
    }
  }

  async #passPart(
    { record, claimed, claims, begun, taken, parts }: OpenPass,
    phase: Phase,
    epoch: number,
    changes: Pick<PassChanges, 'from' | 'pauses'>,
  ): Promise<PassResult> {
    const pass = `epoch ${epoch}, ${phase}`
    const name = parts === 1 ? pass : `${pass}, part ${parts}`
    const { servers, mode } = this
    const runtime = this.runtime!
    const { stop, emit } = this.context
    const part = this.input[phase]
    await servers.requestAll(METHODS.join, [encodeTurn(++this.#turns)], `join(${name})`)
    await servers.allGatherJson(`begin of ${name}`, null)
    const { afterBatch, settle, links } = phase === 'train' ? mode.hooks(runtime) : {}
    const pace = phase === 'train' ? this.#pace() : undefined
    return runtime.pass(phase, epoch, {
      ...changes,
      input: {
        part,
        files: this.filesOf(phase, epoch),
        onChunk: part && record.onChunk,
        claimed: claimed?.slice(),
        begun,
        claim: claimed && claims ? claimChunks(servers, { pass, taken }, claimed) : undefined,
      },
      hooks: {
        beforeBatch: pace?.beforeBatch,
        onReport: (report) => {
          if (report.stopping) stop.abort()
          pace?.onReport()
        },
        afterBatch,
        links,
        settle: async () => {
          await settle?.()
          // Steps of the others go on without this worker.
          await servers.requestAll(METHODS.leave, [encodeTurn(++this.#turns)], `leave(${name})`)
        },
        sumUp: async (own, paused) => {
          const report = record.report(own, stop.signal.aborted, paused)
          const reports = await servers.allGatherJson(`end of ${name}`, report, { read: readReport })
          const sum = sumReports(reports)
          if (sum.paused) return sum
          if (!sum.interrupted && record.isWhole) checkSplit(pass, reports)
          const message = part && claims && takenOver(pass, part, record.read)
          if (message) emit({ kind: 'notice', message })
          if (this.uncounted && !sum.interrupted) noticeTotal(part ? sum.meter.samples : own.samples, emit)
          this.uncounted = false
          return sum
        },
      },
    })
  }

  /** Waits for slower workers, where it is asked for and steps do not wait already. */
  #pace() {
    const { max_staleness: ahead, sync_mode } = this.context.config.config.runner
    if (ahead === undefined || sync_mode === 'sync' || this.cluster.workerNum === 1) return undefined
    const notice = (message: string) => this.context.emit({ kind: 'notice', message })
    return keepPace({ servers: this.servers, ahead, threads: this.role.threads, notice })
  }

  /** In the order of this epoch; undefined: as they are. */
  protected filesOf(_phase: Phase, _epoch: number): readonly string[] | undefined {
    return undefined
  }

  waitingFor(): readonly string[] {
    return this.servers?.waitingFor() ?? []
  }

  async finish(): Promise<void> {
    await this.servers.allGatherJson('end', null)
    this.servers.close()
  }

  async abort(error: Error): Promise<void> {
    // Not there yet where the model could not be loaded.
    this.servers?.abort(error)
  }

  async close(): Promise<void> {
    await this.runtime?.close()
  }
}

/** Waits for servers that are not up yet; aborting `signal` ends the wait with its reason. Once they are there, the work itself ends in good order. */
export async function openServers(
  options: Parameters<typeof ServerGroup.open>[0],
  signal: AbortSignal | undefined,
): Promise<ServerGroup> {
  const waiting = new AbortController()
  const stop = () => waiting.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  try {
    return await ServerGroup.open({ ...options, signal: waiting.signal })
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** Asks server 0 for chunks, one at a time, and notes them. */
function claimChunks(servers: ServerGroup, { pass, taken }: Pick<Claim, 'pass' | 'taken'>, claimed: number[]) {
  let sequence = 0
  return async (idle: boolean, chunks: number): Promise<number | undefined> => {
    const first = sequence === 0
    const claim: Claim = { pass, chunks, sequence: ++sequence, idle, taken: first ? taken : undefined }
    const body = Buffer.from(JSON.stringify(claim))
    const answer = await servers.request(0, METHODS.claim, [body], `claim(${pass})`)
    const place = readJson(answer, 'claim', readChunk)
    if (place !== undefined) claimed.push(place)
    return place
  }
}

/** What this worker read beside its own block; undefined: nothing. */
function takenOver(pass: string, part: Part, { chunks, of }: ChunksRead): string | undefined {
  const places = Array.from({ length: of }, (_, i) => i)
  const own = new Set(blockOf(places, part))
  const others = chunks.filter((chunk) => !own.has(chunk)).length
  if (others === 0) return undefined
  return `${pass}: worker[${part.index}] read ${chunks.length} of ${of} chunks, ${others} of them for slower workers.`
}
