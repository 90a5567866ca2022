/** @file A parameter server without its sockets: answers what workers ask, by the rules of the mode. */
import { HalfCoder } from '../../base/kernel/index.ts'
import { BadMessage, checkMessage, type Keep, type Parts, readJson } from '../../base/net/index.ts'
import type { Tracer } from '../../base/trace/index.ts'
import type { DenseWindow, SignGroups } from '../../weights/params/index.ts'
import { AllGather } from './all-gather.ts'
import type { Collector } from './collector.ts'
import { collectorsOf, contributor, contributors, IN_FLIGHT, MAX_THREADS } from './contributors.ts'
import { decodeParcel, Mailbox } from './exchange.ts'
import { GeoChanges } from './geo-changes.ts'
import { decodeGeo, encodeGeo } from './geo-protocol.ts'
import { HotRows } from './hot-rows.ts'
import { ChunkLedger } from './ledger.ts'
import { Pace } from './pace.ts'
import { decodeJoin, decodePull, decodePush, decodeTurn, METHODS, pullAnswer, pushAnswer } from './protocol.ts'
import { type Asker, checkRequest, readClaim, readGather, readPaceRequest } from './rules.ts'
import { SeenSequences } from './seen-sequences.ts'
import { StateService } from './state-service.ts'
import type { ParamStore } from './store.ts'
import { Turns } from './turns.ts'
import { UpdateLog } from './update-log.ts'
import { noteAnswer, readTraced } from './wire-trace.ts'

export const PS_MODES = ['sync', 'async', 'half_async', 'geo'] as const
export type PsMode = (typeof PS_MODES)[number]

export interface ParameterServerOptions {
  readonly store: ParamStore
  readonly mode: PsMode
  readonly workers: number
  /** Trainer threads of each worker; 0: each says so when it joins. */
  readonly threads: number
  /** Segments of the store's tables. @default 1 */
  readonly segments?: number | undefined
  /** Steps that dense weights are pulled ahead of those applied. @default the gradients that others have under way */
  readonly ahead?: number | undefined
  /** Called when the store has been emptied, before the answer. */
  readonly onReset?: (() => Promise<void>) | undefined
  /** Further threads serve the same store: resolves when the rows of all pushes they have answered are in it. @default there are none */
  readonly settleOthers?: (() => Promise<void>) | undefined
  /** Gets spans of requests that belong to a trace. @default nobody does */
  readonly tracer?: Tracer | undefined
  /** Saves, loads and shrinks whole tables. @default not here */
  readonly tables?: ((body: Uint8Array) => Promise<Parts>) | undefined
}

/** A body that nobody else will use again. */
const KEPT: Keep = () => () => undefined

/** Of a geo worker's exchange. */
const GEO_THREAD = MAX_THREADS - 1

type Handler = (rank: number, body: Uint8Array<ArrayBuffer>, way: Way) => Parts | Promise<Parts>

/** How a request came. */
export interface Way {
  readonly keep?: Keep | undefined
  /** Over whose connection. @default the worker's own */
  readonly asker?: Asker | undefined
  /** The asking thread's dense weights and gradients, this server's part of them, where both see the same memory. */
  readonly window?: DenseWindow | undefined
}

export class ParameterServer {
  readonly store: ParamStore
  /** For those who ask when a row was last updated. */
  readonly updates = new UpdateLog()
  /** For those who ask which rows are wanted most. */
  readonly hot = new HotRows()
  readonly #options: ParameterServerOptions
  readonly #allGather: AllGather
  /** By worker; the same for all in sync, its own in half_async. */
  readonly #collectors: readonly (Collector | undefined)[]
  readonly #seen = new Map<number, SeenSequences>()
  readonly #state: StateService
  readonly #coder = new HalfCoder()
  /** Gradients under way while a thread computes its own: it gets dense weights for when they are applied. */
  readonly #ahead: number
  readonly #changes: GeoChanges
  readonly #ledger: ChunkLedger
  readonly #mailbox = new Mailbox()
  readonly #pace = new Pace()
  readonly #turns = new Turns()
  #applyRows: () => void = () => undefined
  /** Rows of a push that was answered could not be applied: every request from then on fails with it. */
  #broken: Error | undefined
  readonly #handlers: ReadonlyMap<number, Handler>

  constructor(options: ParameterServerOptions) {
    const { store, workers } = options
    this.store = store
    this.#options = options
    this.#allGather = new AllGather(workers)
    this.#collectors = collectorsOf(options)
    this.#ahead = options.ahead ?? IN_FLIGHT[options.mode](options)
    this.#state = new StateService(store)
    this.#ledger = new ChunkLedger(workers)
    this.#changes = new GeoChanges(workers, options.segments ?? 1)
    this.#handlers = new Map<number, Handler>([
      [METHODS.pull, (rank, body) => this.#pull(rank, body)],
      [METHODS.push, (rank, body, way) => this.#push(rank, body, way)],
      [METHODS.tracedPull, (rank, body) => this.#traced('pull', body, (own) => this.#pull(rank, own))],
      [METHODS.tracedPush, (rank, body, way) => this.#traced('push', body, (own) => this.#push(rank, own, way))],
      [METHODS.leave, (rank, body) => this.#settleAndLeave(rank, this.#isNews(rank, body))],
      [METHODS.join, (rank, body) => (this.#isNews(rank, body) ? this.#join(rank, body) : [])],
      [METHODS.allGather, (rank, body) => this.#gather(rank, body)],
      [METHODS.putParcel, (_, body) => this.#putParcel(body)],
      [METHODS.takeParcel, (_, body) => this.#takeParcel(body)],
      [METHODS.counts, () => [new Uint8Array(Float64Array.from(this.store.rowCounts).buffer)]],
      [METHODS.claim, (rank, body) => this.#claim(rank, body)],
      [METHODS.pace, (rank, body) => this.#keepPace(rank, body)],
      [METHODS.geo, (rank, body) => this.#geo(rank, body)],
      [METHODS.scan, (rank, body) => this.#state.scan(rank, body)],
      [METHODS.load, (_, body) => this.#state.load(body)],
      [METHODS.dense, () => this.#state.dense()],
      [METHODS.loadDense, (_, body) => this.#state.loadDense(body)],
      [METHODS.reset, () => this.#reset()],
      ...(options.tables ? [[METHODS.tables, (_: number, body: Uint8Array) => options.tables!(body)] as const] : []),
    ])
  }

  /** Answers a request of worker `rank`. What is answered at once is good until the next request, and so is the body unless it is kept. */
  handle(rank: number, method: number, body: Uint8Array<ArrayBuffer>, way: Way = {}): Parts | Promise<Parts> {
    this.#applyRows()
    if (this.#broken) throw this.#broken
    checkRequest(way.asker ?? 'worker', method, body)
    const handler = this.#handlers.get(method)
    checkMessage(handler !== undefined, 'a method that this server has not')
    return handler(rank, body, way)
  }

  #traced(
    name: 'pull' | 'push',
    traced: Uint8Array<ArrayBuffer>,
    answer: (body: Uint8Array<ArrayBuffer>) => Parts | Promise<Parts>,
  ): Parts | Promise<Parts> {
    const { context, body } = readTraced(traced)
    return noteAnswer(this.#options.tracer, name, context, () => answer(body))
  }

  #pull(rank: number, body: Uint8Array<ArrayBuffer>): Parts | Promise<Parts> {
    const { thread, insert, dense, pushes, halved, ...signs } = decodePull(body, this.#coder)
    this.#check(thread, signs)
    this.hot.note(signs)
    if (dense && halved) checkMessage(halved.dense <= this.store.denseSize, 'pull: more dense values than there are')
    const number = contributor(rank, thread)
    const answer = () =>
      pullAnswer(
        this.store.pull(signs, insert, number),
        dense ? this.store.pullDense(insert ? this.#ahead : 0) : undefined,
        halved,
      )
    // In sync and half_async a thread sees weights only after the step it contributed to.
    const applied = this.#collectors[rank]?.applied(number, pushes)
    return applied ? applied.then(() => answer().map((part) => part.slice())) : answer()
  }

  #push(rank: number, body: Uint8Array<ArrayBuffer>, { keep = KEPT, window }: Way): Parts {
    const { store } = this
    // What is merged with others later must outlive this request.
    const own = this.#collectors[rank] ? body.slice() : body
    const request = decodePush(own, store.precision, store.dims, store.denseSize, this.#coder)
    this.#check(request.thread, request)
    checkMessage(!request.windowed || (window !== undefined && !this.#collectors[rank]), 'push: it has no window')
    const number = contributor(rank, request.thread)
    if (this.#seenOf(number).add(request.sequence)) {
      this.updates.note(rank, store.steps + 1, request)
      const collector = this.#collectors[rank]
      if (collector) collector.add(number, request.sequence, request)
      else {
        const later = (applyRows: () => void) => this.#afterAnswer(applyRows, keep())
        const rowsAlone = request.samples === 0
        const options = { later, contributor: number, ahead: this.#ahead, rowsAlone }
        if (request.windowed)
          store.push({ ...request, dense: window!.gradients }, { ...options, into: window!.weights })
        else store.push(request, options)
      }
    }
    const weights = request.wantsDense && !request.windowed ? store.pullDense(this.#ahead) : undefined
    return pushAnswer(store.steps, weights, request.halved)
  }

  /** A batch of this model: signs for each of its tables, or for none, dealt out as they are here. */
  #check(thread: number, { groups, tableGroups }: SignGroups): void {
    const { segments } = this.#options
    if (thread >= GEO_THREAD) throw new BadMessage(`thread ${thread} of a worker`)
    if (tableGroups.length !== 0 && tableGroups.length !== this.store.dims.length)
      throw new BadMessage(`${tableGroups.length} tables of ${this.store.dims.length}`)
    const dealt = groups[0]?.lengths.length ?? segments
    if (segments !== undefined && dealt !== segments) throw new BadMessage(`signs in ${dealt} segments`)
  }

  /** The answer leaves before the rows are applied; they are, before the next request is looked at. */
  #afterAnswer(applyRows: () => void, done: () => void): void {
    this.#applyRows = () => {
      this.#applyRows = () => undefined
      try {
        applyRows()
      } catch (error) {
        this.#broken = error as Error
      } finally {
        done()
      }
    }
    setImmediate(() => this.#applyRows())
  }

  #geo(rank: number, body: Uint8Array<ArrayBuffer>): Parts {
    const { store } = this
    // Changed signs are remembered for the other workers.
    const message = decodeGeo(body.slice(), store.precision, store.shapes, store.denseSize, this.#coder)
    this.#check(0, message)
    const seen = this.#seenOf(contributor(rank, GEO_THREAD))
    if (seen.add(message.sequence)) {
      this.hot.note(message)
      this.#changes.add(rank, store, message)
      this.updates.note(rank, store.steps, message)
    }
    const answer = this.#changes.take(rank, message, store)
    return encodeGeo({ ...answer, halved: message.halved })
  }

  #seenOf(contributor: number): SeenSequences {
    const seen = this.#seen.get(contributor) ?? new SeenSequences()
    this.#seen.set(contributor, seen)
    return seen
  }

  /** This worker is done: steps go on without it, and nobody waits for it any more. */
  left(rank: number): void {
    this.#leave(rank)
    this.#allGather.leave(rank)
  }

  async #reset(): Promise<Parts> {
    const answer = this.#state.reset()
    await this.#options.onReset?.()
    return answer
  }

  /** Rows of every push that was answered are in the store. */
  settle(): void {
    this.#applyRows()
  }

  /** Whoever has left has pushed all it had, and is followed by what looks at whole tables: a cut, a save, an evaluation. */
  #settleAndLeave(rank: number, isNews: boolean): Parts | Promise<Parts> {
    const { settleOthers } = this.#options
    const leave = () => (isNews ? this.#leave(rank) : [])
    return settleOthers ? settleOthers().then(leave) : leave()
  }

  /** A join that arrives once more behind its leave would have steps wait for one who does not come. */
  #isNews(rank: number, body: Uint8Array<ArrayBuffer>): boolean {
    const turn = decodeTurn(body)
    return turn === undefined || this.#turns.take(rank, turn)
  }

  #leave(rank: number): Parts {
    this.#collectors[rank]?.leave(contributors(rank, MAX_THREADS))
    this.#pace.leave(rank)
    return []
  }

  #join(rank: number, body: Uint8Array<ArrayBuffer>): Parts {
    const { threads, begin } = decodeJoin(body) ?? { threads: this.#options.threads, begin: false }
    checkMessage(threads <= MAX_THREADS, `${threads} threads of a worker`)
    if (begin) for (const number of contributors(rank, MAX_THREADS)) this.#seen.delete(number)
    this.#collectors[rank]?.join(contributors(rank, threads), begin)
    this.#pace.join(rank)
    return []
  }

  #putParcel(body: Uint8Array<ArrayBuffer>): Parts {
    const { address, parcel } = decodeParcel(body)
    this.#mailbox.put(address, parcel)
    return []
  }

  async #takeParcel(body: Uint8Array<ArrayBuffer>): Promise<Parts> {
    const parcel = await this.#mailbox.take(Buffer.from(body).toString('utf8'))
    return parcel ? [parcel] : []
  }

  #claim(rank: number, body: Uint8Array<ArrayBuffer>): Parts {
    const claim = readJson(body, 'claim', readClaim)
    return [Buffer.from(JSON.stringify(this.#ledger.claim(rank, claim)))]
  }

  async #keepPace(rank: number, body: Uint8Array<ArrayBuffer>): Promise<Parts> {
    return [Buffer.from(JSON.stringify(await this.#pace.report(rank, readJson(body, 'pace', readPaceRequest))))]
  }

  async #gather(rank: number, body: Uint8Array<ArrayBuffer>): Promise<Parts> {
    const request = readJson(body, 'allGather', readGather)
    return [Buffer.from(JSON.stringify(await this.#allGather.join(rank, request)))]
  }
}
