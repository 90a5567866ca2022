/** @file What a worker of a job with parameter servers does, whether it trains or evaluates: connects, passes over its part of the data, leaves. */

import type { Cluster } from '../../base/env/index.ts'
import type { EventOf } from '../../base/event/index.ts'
import { readJson, type Transport } from '../../base/net/index.ts'
import { blockOf, type Part } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { type Claim, jobIdentity, METHODS, readChunk, ServerGroup, serverExchange } from '../ps/index.ts'
import { type DataFiles, type PassResult, type Phase, Runtime } from '../threads/index.ts'
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
    const { transport, requestTimeoutMs, startTimeoutMs } = this.#options
    const options = {
      servers: this.cluster.servers,
      identity: this.identity,
      transport,
      requestTimeoutMs,
      startTimeoutMs,
      onNotice: (message: string) => emit({ kind: 'notice', message }),
      onLost: (error: Error) => this.runtime?.fail(error),
    }
    this.servers = await openServers(options, stop.signal)
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

  protected async openRuntime(shuffles: boolean): Promise<void> {
    const { model, files, servers } = this
    const { rank, workerNum } = this.cluster
    const { params, pool, seed } = this.mode
    const trainers = { params, pool, seed, threads: this.role.threads }
    const input = { exchange: shuffles ? serverExchange(servers, rank, workerNum) : undefined }
    this.runtime = await Runtime.open({ ...runtimeOptions(this.context), model, files, trainers, input })
  }

  /** All workers begin together, read each its part, and add up what they have measured. */
  async pass(phase: Phase, epoch: number): Promise<PassResult> {
    const name = `epoch ${epoch}, ${phase}`
    const { servers, mode } = this
    const runtime = this.runtime!
    const { stop, emit } = this.context
    const part = this.input[phase]
    await servers.requestAll(METHODS.join, [], `join(${name})`)
    await servers.allGatherJson(`begin of ${name}`, null)
    const record = new PassRecord()
    const { afterBatch, settle } = phase === 'train' ? mode.hooks(runtime) : {}
    const pace = phase === 'train' ? this.#pace() : undefined
    return runtime.pass(phase, epoch, {
      input: {
        part,
        files: phase === 'train' ? this.filesOf(epoch) : undefined,
        onChunk: part && record.onChunk,
        claim: part && phase === 'train' && mode.takesOver ? claimChunks(servers, name) : undefined,
      },
      hooks: {
        beforeBatch: pace?.beforeBatch,
        onReport: (report) => {
          if (report.stopping) stop.abort()
          pace?.onReport()
        },
        afterBatch,
        settle: async () => {
          await settle?.()
          // Steps of the others go on without this worker.
          await servers.requestAll(METHODS.leave, [], `leave(${name})`)
        },
        sumUp: async (own) => {
          const reports = await servers.allGatherJson(`end of ${name}`, record.report(own, stop.signal.aborted))
          const sum = sumReports(reports)
          if (!sum.interrupted) checkSplit(name, reports)
          const message = part && takenOver(name, part, record.read)
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
  protected filesOf(_epoch: number): readonly string[] | undefined {
    return undefined
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

/** Asks server 0 for chunks, one at a time. */
function claimChunks(servers: ServerGroup, pass: string) {
  let sequence = 0
  return async (idle: boolean, chunks: number): Promise<number | undefined> => {
    const claim: Claim = { pass, chunks, sequence: ++sequence, idle }
    const body = Buffer.from(JSON.stringify(claim))
    const answer = await servers.request(0, METHODS.claim, [body], `claim(${pass})`)
    return readJson(answer, 'claim', readChunk)
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
