/** @file Jobs of Fleet instances within this process: real sockets and trainer threads, a small model, no launcher. */
import { join } from 'node:path'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { loadModel } from '../../src/model/index.ts'
import {
  Fleet,
  type FleetProgram,
  type FleetRegistry,
  type FleetRuntime,
  Role,
  type Strategy,
  type TrainingProgram,
  UserDefinedRoleMaker,
} from '../../src/paddle/fleet/index.ts'
import { findDataFiles } from '../../src/training/threads/index.ts'
import { freeEndpoints } from '../ports.testing.ts'

export interface Member {
  readonly fleet: Fleet
  readonly rank: number
  readonly program: FleetProgram
  readonly events: readonly Event[]
  /** One pass over this worker's share of the training data, or over all of the test data. */
  pass(phase: 'train' | 'infer', epoch: number): Promise<Readonly<Record<string, number>>>
  /** The next pass has new threads. */
  reopen(): Promise<void>
}

export interface FleetJobOptions {
  /** Made by tinyFolder. */
  readonly folder: string
  readonly workers: number
  readonly servers: number
  readonly strategy?: Strategy
  readonly overrides?: readonly string[]
  /** What servers begin with. */
  readonly initServer?: string
}

/** Runs a job: `work` is every worker's program between initWorker and stopWorker. Resolves to what each returned. */
export async function fleetJob<T>(options: FleetJobOptions, work: (member: Member) => Promise<T>): Promise<T[]> {
  const { folder, workers, servers, strategy, overrides = [] } = options
  const loaded = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
  const model = await loadModel(loaded)
  const files = await findDataFiles(loaded.config, ['train', 'infer'])
  const serverEndpoints = await freeEndpoints(servers)
  const join_ = (role: Role, currentId: number) => {
    const events: Event[] = []
    const fleet = new Fleet({ emit: (event) => events.push(event) })
    fleet.init(new UserDefinedRoleMaker({ role, currentId, workerNum: workers, serverEndpoints, env: {} }))
    const program = register(fleet, { model, seed: loaded.config.runner.seed }, strategy)
    return { fleet, program, events }
  }
  const serving = Array.from({ length: servers }, async (_, rank) => {
    const { fleet } = join_(Role.SERVER, rank)
    await fleet.initServer(options.initServer)
    await fleet.runServer()
  })
  const working = Array.from({ length: workers }, async (_, rank) => {
    const { fleet, program, events } = join_(Role.WORKER, rank)
    await fleet.initWorker()
    const own = fleet.util.getFileShard(files.train!)
    let runtime: FleetRuntime | undefined
    const pass: Member['pass'] = async (phase, epoch) => {
      runtime ??= await program.worker!.openRuntime({
        ...{ config: loaded.config, files: { ...files, train: own }, engine: 'ort' },
        ...{ emit: (event: Event) => events.push(event), signal: new AbortController().signal },
      })
      const { metrics, samples } = await runtime.pass(phase, epoch)
      return { ...metrics, samples }
    }
    const reopen = async () => {
      await runtime?.close()
      runtime = undefined
    }
    try {
      return await work({ fleet, rank, program, events, pass, reopen })
    } finally {
      await reopen()
      await fleet.stopWorker()
    }
  })
  const [results] = await Promise.all([Promise.all(working), ...serving])
  return results
}

export function register(fleet: Fleet, program: TrainingProgram, strategy?: Strategy): FleetProgram {
  const minimizer = { distributed: (registry: FleetRegistry) => registry }
  return fleet.distributedOptimizer(minimizer, strategy).register(program)
}
