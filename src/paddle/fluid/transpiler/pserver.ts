/** @file The programs of a parameter server: one gives it first weights, the other serves trainers until all are done. */
import { type Cluster, processEnv, psFlags } from '../../../base/env/index.ts'
import type { Identity } from '../../../base/net/index.ts'
import type { TracedModel } from '../../../model/index.ts'
import { KernelStore, openStore, type PsMode, serveStore } from '../../../training/ps/index.ts'
import type { Fetched, RunContext, Runnable } from '../runnable.ts'
import { SEGMENTS } from '../weights.ts'
import { trainerGone, transpilerError } from './errors.ts'
import type { Plan } from './plan.ts'
import { pserverText } from './text.ts'

export interface PserverOptions {
  readonly cluster: Cluster
  readonly identity: Identity
  readonly model: TracedModel
  readonly seed: number
  readonly mode: PsMode
  readonly plan: Plan
}

/** Running it serves: it ends when every trainer has called exe.close(), or is gone. */
export class PserverProgram implements Runnable {
  readonly runnable = true
  readonly endpoint: string
  readonly #options: PserverOptions
  #store: KernelStore | undefined

  constructor(options: PserverOptions) {
    this.#options = options
    this.endpoint = options.cluster.endpoint
  }

  /** First weights; what was trained before is forgotten. */
  start(): void {
    const { cluster, model, mode, seed, plan } = this.#options
    if (mode === 'geo') {
      this.#store = openStore({ cluster, model, mode, seed, segments: SEGMENTS })
      return
    }
    const program = plan.graphs[cluster.rank]!
    const { optimizer, tableOptimizers } = model
    const values = plan.initial(cluster.rank)
    const slice = { from: 0, to: values.length }
    this.#store = new KernelStore({ program, optimizer, tableOptimizers, seed, segments: SEGMENTS, slice })
    const bytes = this.#store.params.dense.bytes()
    new Float32Array(bytes.buffer, bytes.byteOffset, values.length).set(values)
  }

  async run({ emit }: RunContext): Promise<Fetched[]> {
    const { cluster, identity, mode } = this.#options
    if (!this.#store)
      throw transpilerError(
        'the server has no weights: its startup program was not run',
        'await exe.run(t.getStartupProgram(endpoint, pserverProgram)) before exe.run(pserverProgram)',
      )
    const onLost = (rank: number, error: Error) => {
      if (mode === 'sync') return trainerGone(rank, error)
      const message = `trainer[${rank}] ended without exe.close() (${error.message}); the others go on without it`
      emit({ kind: 'warning', message })
      return undefined
    }
    await serveStore({
      cluster,
      store: this.#store,
      mode,
      segments: SEGMENTS,
      threads: mode === 'geo' ? 0 : 1,
      identity,
      emit,
      onLost,
      ...psFlags(processEnv()),
    })
    return []
  }

  toString(): string {
    return pserverText(this.#options)
  }
}

/** Running it gives the server its first weights. */
export class PserverStartup implements Runnable {
  readonly runnable = true
  readonly #program: PserverProgram

  constructor(program: PserverProgram) {
    this.#program = program
  }

  async run(): Promise<Fetched[]> {
    this.#program.start()
    return []
  }
}
