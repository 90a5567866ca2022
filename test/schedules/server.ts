/** @file A server of a simulated job: the machines of src/training/ps, on a table that counts samples and remembers the order of steps. */
import { type GatherAnswer, Gatherings } from '../../src/training/ps/gatherings.ts'
import { ChunkLedger, type Claim } from '../../src/training/ps/ledger.ts'
import { SeenSequences } from '../../src/training/ps/seen-sequences.ts'
import { StepParts } from '../../src/training/ps/step-parts.ts'
import { Turns } from '../../src/training/ps/turns.ts'

export const SIM_MODES = ['sync', 'half_async', 'async'] as const
export type SimMode = (typeof SIM_MODES)[number]

/** What a server holds: how often each sample was trained, and a digest of the steps in their order. */
export interface Table {
  readonly counts: ReadonlyMap<number, number>
  readonly digest: number
}

export const EMPTY: Table = { counts: new Map(), digest: 0 }

export type Request =
  | { readonly kind: 'save' }
  | { readonly kind: 'join' | 'leave'; readonly turn: number }
  | { readonly kind: 'load'; readonly table: Table }
  | { readonly kind: 'gather'; readonly name: string; readonly what: unknown }
  | { readonly kind: 'claim'; readonly claim: Claim }
  /** Answered when that many pushes of the worker are in steps. */
  | { readonly kind: 'pull'; readonly pushes: number }
  | { readonly kind: 'push'; readonly sequence: number; readonly samples: readonly number[] }

export type Answer = GatherAnswer | Table | number | null | 'done'

/** Asked again and again until it is something. */
export type Later = () => Answer | undefined

export class SimServer {
  #counts = new Map<number, number>()
  #digest = 0
  readonly #gatherings: Gatherings
  readonly #ledger: ChunkLedger
  readonly #turns = new Turns()
  readonly #seen = new Map<number, SeenSequences>()
  /** By worker, as in ParameterServer: one for all in sync, none in async. */
  readonly #steps: readonly (StepParts<readonly number[]> | undefined)[]

  constructor(mode: SimMode, workers: number) {
    this.#gatherings = new Gatherings(workers)
    this.#ledger = new ChunkLedger(workers)
    const ranks = Array.from({ length: workers }, (_, rank) => rank)
    const all = new StepParts<readonly number[]>(ranks)
    const own = {
      sync: () => all,
      half_async: (rank: number) => new StepParts<readonly number[]>([rank]),
      async: () => undefined,
    }
    this.#steps = ranks.map((rank) => own[mode](rank))
  }

  get table(): Table {
    return { counts: new Map(this.#counts), digest: this.#digest }
  }

  handle(rank: number, request: Request): Later {
    const steps = this.#steps[rank]
    switch (request.kind) {
      case 'join':
        if (this.#turns.take(rank, request.turn)) steps?.join([rank])
        return () => 'done'
      case 'leave':
        if (this.#turns.take(rank, request.turn)) steps?.leave([rank])
        this.#apply(steps)
        return () => 'done'
      case 'load':
        this.#counts = new Map(request.table.counts)
        this.#digest = request.table.digest
        return () => 'done'
      case 'save':
        return () => this.table
      case 'gather':
        this.#gatherings.bring(rank, { name: request.name, what: request.what })
        return () => this.#gathered(rank, request.name)
      case 'claim': {
        const chunk = this.#ledger.claim(rank, request.claim)
        return () => chunk
      }
      case 'pull':
        return () => (!steps || steps.isApplied(rank, request.pushes) ? 'done' : undefined)
      case 'push':
        this.#push(rank, request.sequence, request.samples)
        return () => 'done'
    }
  }

  #gathered(rank: number, name: string): GatherAnswer | undefined {
    const answer = this.#gatherings.answer(rank, name)
    return answer.kind === 'waiting' ? undefined : answer
  }

  #push(rank: number, sequence: number, samples: readonly number[]): void {
    const seen = this.#seen.get(rank) ?? new SeenSequences()
    this.#seen.set(rank, seen)
    if (!seen.add(sequence)) return
    const steps = this.#steps[rank]
    if (steps) steps.add(rank, sequence, samples)
    else this.#train([samples])
    this.#apply(steps)
  }

  #apply(steps: StepParts<readonly number[]> | undefined): void {
    for (let parts = steps?.take(); parts; parts = steps?.take()) this.#train(parts)
  }

  #train(parts: readonly (readonly number[])[]): void {
    for (const sample of parts.flat()) this.#counts.set(sample, (this.#counts.get(sample) ?? 0) + 1)
    // Depends on what is in which step, and on the order of steps and of the parts in them.
    for (const part of parts) for (const sample of part) this.#digest = (Math.imul(this.#digest, 31) + sample + 1) | 0
    this.#digest = (Math.imul(this.#digest, 37) + parts.length) | 0
  }
}
