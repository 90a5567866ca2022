/** @file A geo trainer of a transpiled program: it trains a copy of its own and exchanges what changed every so many batches. */
import type { EventSink } from '../../event/index.ts'
import type { FleetRuntime, FleetWorker } from '../../fleet/index.ts'
import { createLocalParams, denseLayout, LocalParams, type Params, type ParamsShare } from '../../params/index.ts'
import {
  ADDING,
  DEFAULT_SHARDS,
  denseSlices,
  GeoExchange,
  gatherParams,
  type Placement,
  ServerGroup,
  type Slice,
  scatterParams,
  TouchedParams,
} from '../../ps/index.ts'
import { SEGMENTS } from '../weights.ts'
import { transpilerError } from './errors.ts'
import { callsOf, type TrainerOptions } from './trainer.ts'

export interface GeoTrainerOptions extends Pick<TrainerOptions, 'cluster' | 'identity' | 'model' | 'seed'> {
  readonly geoStep: number
  readonly emit: EventSink
}

export class GeoTrainer implements FleetWorker {
  readonly #options: GeoTrainerOptions
  readonly #servers: ServerGroup
  readonly #slices: readonly Slice[]
  readonly #placement: Placement
  readonly #params = new Set<Params>()

  private constructor(options: GeoTrainerOptions, servers: ServerGroup) {
    const { model } = options
    this.#options = options
    this.#servers = servers
    this.#slices = denseSlices(denseLayout(model.train, model.optimizer).floats, servers.size)
    this.#placement = { servers: servers.size, shards: DEFAULT_SHARDS }
  }

  static async open(options: GeoTrainerOptions): Promise<GeoTrainer> {
    const { cluster, identity, emit } = options
    const onNotice = (message: string) => emit({ kind: 'notice', message })
    return new GeoTrainer(options, await ServerGroup.open({ servers: cluster.servers, identity, idle: true, onNotice }))
  }

  async openParams(): Promise<Params> {
    const { model, seed, cluster, geoStep } = this.#options
    const { train: program, optimizer, tableOptimizers } = model
    const common = { program, seed, segments: SEGMENTS }
    // This thread's, and the two that the exchange uses.
    const local = createLocalParams({ ...common, optimizer, tableOptimizers, threads: 3 })
    const exchange = new GeoExchange({
      ...{ ...common, local, thread: 1, slices: this.#slices, placement: this.#placement, workers: cluster.workerNum },
      call: callsOf(this.#servers),
    })
    const touched = new TouchedParams(new LocalParams(local, 0))
    let steps = 0
    const params: Params = {
      pull: (share: ParamsShare, insert: boolean) => touched.pull(share, insert),
      push: async (share: ParamsShare) => {
        const step = await touched.push(share)
        if (++steps % geoStep === 0) await exchange.run([touched.take()])
        return step
      },
      flush: () => exchange.settle([touched.take()]),
      close: () => exchange.settle([touched.take()]),
    }
    this.#params.add(params)
    return params
  }

  openRuntime(): Promise<FleetRuntime> {
    throw transpilerError(
      'a geo trainer of DistributeTranspiler runs batch by batch',
      'train with exe.run and a feed, or pass StrategyFactory.createGeoStrategy to fleet.distributedOptimizer',
    )
  }

  async gather(): Promise<LocalParams> {
    await this.#flush()
    const { model, seed } = this.#options
    const options = { program: model.train, optimizer: ADDING, seed, segments: SEGMENTS, threads: 1 }
    const into = new LocalParams(createLocalParams(options), 0)
    await gatherParams(this.#servers, this.#slices, into)
    return into
  }

  scatter(params: LocalParams): Promise<void> {
    return scatterParams(this.#servers, this.#slices, this.#placement, params)
  }

  async close(): Promise<void> {
    await this.#flush()
    this.#servers.close()
  }

  async #flush(): Promise<void> {
    for (const params of this.#params) await params.flush()
  }
}
