/** @file Every way to take part in a job, for tests that hold them to the same. */
import { openGroup } from '../../src/training/collective/index.ts'
import {
  amongRanks,
  evaluateAmongRanks,
  evaluateWithServers,
  type InferOptions,
  infer,
  overPasses,
  type TrainOptions,
  train,
  withServers,
} from '../../src/training/driver/index.ts'
import { runServer } from '../../src/training/ps/index.ts'
import { freePorts } from '../ports.testing.ts'

/** One process of each way; the others, if it needs any, run beside it. */
export interface Way {
  train(options: TrainOptions): ReturnType<typeof train>
  infer(options: InferOptions): ReturnType<typeof infer>
}

export const quiet = () => undefined

/** Workers and one server; the first worker is the one that is looked at. */
export async function beside<O extends TrainOptions | InferOptions, T>(
  options: O,
  workerNum: number,
  work: (options: O, cluster: never) => Promise<T>,
): Promise<T> {
  const servers = [`127.0.0.1:${(await freePorts(1))[0]}`]
  const shared = { servers, workers: [], workerNum, jobId: 'test', token: 'secret', inherited: {} }
  const cluster = { ...shared, role: 'server' as const, rank: 0, endpoint: servers[0]! }
  const serving = runServer({ cluster, config: options.config, emit: quiet })
  const results = await Promise.all(
    Array.from({ length: workerNum }, (_, rank) => {
      const own = rank === 0 ? options : { ...options, emit: quiet, signal: undefined }
      return work(own, { ...shared, role: 'worker', rank, endpoint: '' } as never)
    }),
  )
  await serving
  return results[0]!
}

/** Two ranks of a ring; the first is the one that is looked at. */
export async function inRing<O extends TrainOptions | InferOptions, T>(
  options: O,
  work: (options: O, group: Awaited<ReturnType<typeof openGroup>>) => Promise<T>,
): Promise<T> {
  const endpoints = (await freePorts(2)).map((port) => `127.0.0.1:${port}`)
  const identity = { jobId: 'test', token: 'secret' }
  const results = await Promise.all(
    endpoints.map(async (_, rank) => {
      const group = await openGroup({ kind: 'ring', rank, endpoints, identity })
      const result = await work(rank === 0 ? options : { ...options, emit: quiet, signal: undefined }, group)
      await group.close()
      return result
    }),
  )
  return results[0]!
}

function served(workers: number): Way {
  return {
    train: (options) => beside(options, workers, (own, cluster) => train(own, withServers({ cluster }))),
    infer: (options) => beside(options, workers, (own, cluster) => infer(own, evaluateWithServers({ cluster }))),
  }
}

export const WAYS: Readonly<Record<string, Way>> = {
  alone: { train: (options) => train(options), infer: (options) => infer(options) },
  'with servers': served(1),
  'among ranks': {
    train: (options) => inRing(options, (own, group) => train(own, amongRanks(group))),
    infer: (options) => inRing(options, (own, group) => infer(own, evaluateAmongRanks(group))),
  },
  'over passes': {
    train: (options) => train({ ...options, config: ofPasses(options.config) }, overPasses()),
    infer: (options) => infer(options),
  },
}

/** The same job for the GPU parameter server, which reads into memory. */
function ofPasses(loaded: TrainOptions['config']): TrainOptions['config'] {
  const { config } = loaded
  const runner = { ...config.runner, sync_mode: 'gpubox', reader_type: 'InmemoryDataset' } as const
  return { ...loaded, config: { ...config, runner } }
}

/** Ways in which several processes bring together what they measured. */
export const TOGETHER: Readonly<Record<string, Way>> = {
  alone: WAYS['alone']!,
  'two workers': served(2),
  'two ranks': WAYS['among ranks']!,
}

/** Two ranks of which each saves to, and looks on, a disk of its own. */
export const trainApart: Way['train'] = (options) =>
  inRing(options, (own, group) => train(group.rank === 0 ? own : onItsOwnDisk(own), amongRanks(group)))

/** As on a host that does not see the first one's folder. */
function onItsOwnDisk(options: TrainOptions): TrainOptions {
  const { config } = options.config
  const runner = { ...config.runner, model_save_path: `${config.runner.model_save_path}-of-another-host` }
  return { ...options, config: { ...options.config, config: { ...config, runner } } }
}
