/** @file DistributeTranspiler: turns a program for one machine into those of trainers and servers. */
import { createHash } from 'node:crypto'
import { type Cluster, namedCluster, parseEndpoints } from '../../../base/env/index.ts'
import type { EventSink } from '../../../base/event/index.ts'
import { credentialsOf, type Identity } from '../../../base/net/index.ts'
import { suggest, type UserError } from '../../../base/util/index.ts'
import { programHash } from '../../../graph/program/index.ts'
import type { TracedModel } from '../../../model/index.ts'
import { type PsMode, warnOfToken } from '../../../training/ps/index.ts'
import { DEFAULT_SHARDS } from '../../../weights/table/index.ts'
import { ConnectedWorker, type FleetProgram, fleetIdentity } from '../../fleet/index.ts'
import { defaultMainProgram, type Program } from '../program.ts'
import { tracedModel } from '../traced.ts'
import { checkConfig, DistributeTranspilerConfig, modeOf } from './config.ts'
import { transpilerError } from './errors.ts'
import { type Plan, planServers } from './plan.ts'
import { PserverProgram, PserverStartup } from './pserver.ts'
import { trainerLines } from './text.ts'
import { Trainer } from './trainer.ts'

/** Options of DistributeTranspiler.transpile. */
export interface TranspileOptions {
  /** This trainer among all, from 0. Servers may give any. */
  readonly trainerId: number
  /** @default the default main program */
  readonly program?: Program
  /** host:port of every server, between commas. @default '127.0.0.1:6174' */
  readonly pservers?: string
  /** How many trainers there are. @default 1 */
  readonly trainers?: number
  /** Trainers make every step together. @default true */
  readonly syncMode?: boolean
}

interface Transpiled {
  readonly program: Program
  readonly model: TracedModel
  readonly plan: Plan
  readonly mode: PsMode
  readonly servers: readonly string[]
  readonly trainers: number
  readonly trainerId: number
  readonly geoStep: number
}

/** Splits a program into those of trainers and of servers. */
export class DistributeTranspiler {
  readonly config: DistributeTranspilerConfig
  #transpiled: Transpiled | undefined
  readonly #pservers = new Map<string, PserverProgram>()

  constructor({ config = new DistributeTranspilerConfig() }: { readonly config?: DistributeTranspilerConfig } = {}) {
    this.config = config
  }

  /** Cuts the program's weights up for the servers. Call it after minimize. */
  transpile(options: TranspileOptions): void {
    const { trainerId, program = defaultMainProgram(), pservers = '127.0.0.1:6174', trainers = 1 } = options
    checkConfig(this.config)
    const servers = serversOf(pservers)
    checkTrainers(trainers, trainerId)
    if (!program.minimized)
      throw transpilerError(
        'the program has no optimizer, so there are no gradients to send',
        'call new fluid.optimizer.SGD({ learningRate }).minimize(loss) before transpile',
      )
    const model = tracedModel(program)
    const { minBlockSize, sliceVarUp, splitMethod } = this.config
    const mode = modeOf(this.config, options.syncMode ?? true)
    const plan = planServers({
      model,
      seed: program.randomSeed,
      servers: servers.length,
      minBlockSize,
      sliceVarUp,
      splitMethod,
      equalPushes: mode === 'sync',
    })
    const { geoSgdNeedPushNums: geoStep } = this.config
    this.#transpiled = { program, model, plan, mode, servers, trainers, trainerId, geoStep }
    if (this.config.printLog)
      process.stdout.write(`${plan.blocks.map((b) => `${b.name} : ${servers[b.server]}`).join('\n')}\n`)
  }

  /** The program whose gradients go to the servers and whose weights come from them. It connects when its startup program is run. */
  getTrainerProgram(): Program {
    const job = this.#job('getTrainerProgram')
    const { program, model, plan, mode, servers, trainerId, trainers: workerNum } = job
    const cluster = namedCluster({ role: 'worker', rank: trainerId, servers, workerNum })
    const identity = identityOf(cluster, job)
    const { geoStep } = job
    const seed = program.randomSeed
    // Geo exchanges whole tensors, as Fleet's geo does: there are no blocks.
    const open = (emit: EventSink) =>
      mode === 'geo'
        ? ConnectedWorker.open({
            cluster,
            program: { model, seed },
            strategy: { mode, geoStep, tableParameters: {} },
            emit,
          })
        : Trainer.open({ cluster, identity, model, seed, mode, plan, emit })
    let worker: Awaited<ReturnType<typeof open>> | undefined
    const fleet: FleetProgram = {
      cluster,
      mode,
      geoStep,
      tableParameters: {},
      placement: { servers: servers.length, shards: DEFAULT_SHARDS },
      get worker() {
        if (worker) return worker
        throw notConnected()
      },
    }
    program.fleet = fleet
    program.transpiled = {
      lines: trainerLines({ model, plan, servers, mode, trainerId }),
      start: async (emit) => {
        if (!worker && mode !== 'geo') warnOfToken(cluster, emit)
        worker ??= await open(emit)
      },
      close: async () => {
        await worker?.close()
      },
    }
    return program
  }

  /** The server at an endpoint. Run its startup program first, then this one: it serves until all trainers are done. */
  getPserverProgram(endpoint: string): PserverProgram {
    const job = this.#job('getPserverProgram')
    const { program, model, plan, mode, servers, trainers: workerNum } = job
    const rank = servers.indexOf(endpoint)
    if (rank < 0) throw notAServer(endpoint, servers)
    const cluster = namedCluster({ role: 'server', rank, servers, workerNum, endpoint })
    const identity = identityOf(cluster, job)
    const known =
      this.#pservers.get(endpoint) ??
      new PserverProgram({ cluster, identity, model, seed: program.randomSeed, mode, plan })
    this.#pservers.set(endpoint, known)
    return known
  }

  /** Both programs of a server: the one that serves, and the one to run before. */
  getPserverPrograms(endpoint: string): readonly [main: PserverProgram, startup: PserverStartup] {
    const main = this.getPserverProgram(endpoint)
    return [main, this.getStartupProgram(endpoint, main)]
  }

  getStartupProgram(
    endpoint: string,
    pserverProgram: PserverProgram = this.getPserverProgram(endpoint),
  ): PserverStartup {
    return new PserverStartup(pserverProgram)
  }

  #job(what: string): Transpiled {
    if (this.#transpiled) return this.#transpiled
    throw transpilerError(`${what} was called before transpile`, 't.transpile({ trainerId, pservers, trainers })')
  }
}

function serversOf(pservers: string): readonly string[] {
  const servers = parseEndpoints('pservers', pservers)
  if (servers.length === 0) throw transpilerError('pservers is empty', "pservers: '10.0.0.1:6174,10.0.0.2:6174'")
  const twice = servers.find((server, i) => servers.indexOf(server) !== i)
  if (twice !== undefined) throw transpilerError(`pservers has ${twice} twice`, 'list every server once')
  return servers
}

function checkTrainers(trainers: number, trainerId: number): void {
  if (!Number.isInteger(trainers) || trainers < 1)
    throw transpilerError(`trainers is ${trainers}`, 'give the number of trainers, e.g. trainers: 2')
  if (!Number.isInteger(trainerId) || trainerId < 0 || trainerId >= trainers)
    throw transpilerError(`trainerId is ${trainerId}, but there are ${trainers} trainers`, `give 0 to ${trainers - 1}`)
}

function notAServer(endpoint: string, servers: readonly string[]): UserError {
  const near = suggest(endpoint, servers)
  return transpilerError(
    `${endpoint} is not one of the servers ${servers.join(', ')}`,
    near ? `did you mean ${near}?` : 'write the endpoint of this server as pservers has it',
  )
}

function notConnected(): UserError {
  return transpilerError(
    'the trainer is not connected to its servers: the startup program was not run',
    'await exe.run(fluid.defaultStartupProgram())',
  )
}

/** What all processes of a job must agree on. */
function identityOf(
  cluster: Cluster,
  { program, model, mode, plan, servers, trainers, geoStep }: Transpiled,
): Identity {
  if (mode === 'geo')
    return fleetIdentity(cluster, { model, seed: program.randomSeed }, { mode, geoStep, tableParameters: {} })
  const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
  return {
    ...credentialsOf(cluster, cluster.workers.length > 0 ? [...servers, ...cluster.workers] : []),
    rank: cluster.rank,
    role: cluster.role === 'server' ? 'server' : 'worker',
    agreement: {
      'list of servers': servers.join(','),
      'number of trainers': String(trainers),
      mode,
      program: programHash(model.train).slice(0, 12),
      optimizer: digest([model.optimizer, model.tableOptimizers]),
      'placement of blocks': digest(plan.blocks.map(({ name, server }) => [name, server])),
      'random seed': String(program.randomSeed),
    },
  }
}
