/** @file Which processes make up the group and what carries their numbers: MPI under mpirun and srun, the ring otherwise. */
import type { Collective } from '../../base/config/index.ts'
import {
  type Cluster,
  collectiveFromEnv,
  derivedTokenWarning,
  type Env,
  parseEndpoint,
  silenceSetting,
} from '../../base/env/index.ts'
import { type Credentials, credentialsOf, SILENCE_MS, type TlsSetting } from '../../base/net/index.ts'
import { noEndpoints, notUnderMpi, noWorkerEndpoints } from './errors.ts'

/** Plain data, for the communication thread. */
export type GroupPlan = RingPlan | MpiPlan | { readonly kind: 'alone' }

export interface RingPlan {
  readonly kind: 'ring'
  readonly rank: number
  /** host:port by rank. */
  readonly endpoints: readonly string[]
  readonly identity: Credentials
  /** What is to be said of it before it begins, by this rank. */
  readonly warning?: string | undefined
  /** The listening socket of this rank's port, inherited from the launcher. */
  readonly descriptor?: number | undefined
  /** The number of the start, where hosts come and go: ranks of another one are refused. */
  readonly membership?: string | undefined
  /** How long the other ranks may take to come up. @default 5 minutes */
  readonly startTimeoutMs?: number | undefined
  /** How long a rank may be silent until it counts as gone. @default as identity and those of the other ranks say */
  readonly deadAfterMs?: number | undefined
  /** What ranks of one host use. @default memory, where all ranks are on one host and the system allows it */
  readonly within?: 'memory' | 'sockets' | undefined
}

export interface MpiPlan {
  readonly kind: 'mpi'
  /** Paths or names of libraries to try, the likeliest first. */
  readonly libraries: readonly string[]
  /** How many ranks the launcher says there are; undefined when it does not. */
  readonly size: number | undefined
  /** How long a rank may be silent until it counts as gone. @default ranks are not watched */
  readonly silenceMs?: number | undefined
}

/** Keys of `runner` that a group is opened with. */
export interface GroupKeys {
  readonly tls?: TlsSetting | undefined
  readonly silence_limit?: number | undefined
}

/**
 * The plan that the environment, `runner.collective` and other keys of `runner` ask for; `alone` where there is one process. Without keys nobody trains: ranks
 * of MPI may then be silent.
 */
export function groupPlan(env: Env, collective: Collective = 'auto', keys?: GroupKeys): GroupPlan {
  const mpi = mpiStart(env)
  if (collective === 'mpi' && !mpi) throw notUnderMpi()
  const { tls, silence_limit: seconds } = keys ?? {}
  const ownSilenceMs = seconds ? 1000 * seconds : undefined
  if (mpi && collective !== 'ring') {
    const silenceMs = keys && (ownSilenceMs ?? silenceSetting(env) ?? SILENCE_MS)
    return mpi.size === 1
      ? { kind: 'alone' }
      : { kind: 'mpi', libraries: librariesOf(env, mpi), size: mpi.size, silenceMs }
  }
  const job = collectiveFromEnv(env)
  if (!job && mpi && mpi.size > 1) throw noEndpoints(mpi.by)
  if (!job || job.endpoints.length === 1) return { kind: 'alone' }
  const { rank, endpoints, descriptor, derivedToken, isTokenWarned } = job
  const silenceMs = ownSilenceMs ?? job.silenceMs
  const identity = credentialsOf({ ...job, tls: job.tls ?? tls, silenceMs }, endpoints)
  const isToWarn = derivedToken && !isTokenWarned && rank === 0
  const warning = isToWarn ? derivedTokenWarning(true) : undefined
  return { kind: 'ring', rank, endpoints, identity, descriptor, warning, membership: job.membership }
}

/** The ring of a job's workers, where they also have servers. */
export function workersRing(cluster: Cluster): GroupPlan {
  const { rank, workers, workerNum, inherited } = cluster
  if (workerNum === 1) return { kind: 'alone' }
  const own = workers[rank]
  if (own === undefined) throw noWorkerEndpoints(workerNum)
  const descriptor = inherited[parseEndpoint(own)?.port ?? -1]
  return { kind: 'ring', rank, endpoints: workers, identity: credentialsOf(cluster, workers), descriptor }
}

type Family = 'openmpi' | 'mpich'

interface MpiStart {
  readonly size: number
  /** Who started the processes, for messages. */
  readonly by: string
  /** Whose library can talk to that starter, when it is known. */
  readonly family: Family | undefined
}

/** What each starter sets for its processes. srun speaks PMIx with Open MPI and PMI with MPICH. */
function mpiStart(env: Env): MpiStart | undefined {
  const number = (name: string) => (env[name] ? Number(env[name]) : undefined)
  const openMpi = number('OMPI_COMM_WORLD_SIZE')
  if (openMpi !== undefined) return { size: openMpi, by: 'mpirun', family: 'openmpi' }
  const slurm = number('SLURM_STEP_NUM_TASKS')
  if (slurm !== undefined) {
    const family = env['PMIX_RANK'] ? 'openmpi' : env['PMI_RANK'] ? 'mpich' : undefined
    return { size: slurm, by: 'srun', family }
  }
  const mpich = number('PMI_SIZE')
  return mpich === undefined ? undefined : { size: mpich, by: 'mpirun', family: 'mpich' }
}

const LIBRARIES: Readonly<Record<Family, readonly string[]>> =
  process.platform === 'darwin'
    ? { openmpi: ['libmpi.40.dylib', 'libmpi.dylib'], mpich: ['libmpi.12.dylib', 'libpmpi.dylib', 'libmpi.dylib'] }
    : { openmpi: ['libmpi.so.40', 'libmpi.so'], mpich: ['libmpich.so.12', 'libmpi.so.12', 'libmpi.so'] }

/** OARFISH_MPI_LIBRARY says which library it is, where the system has it under another name. */
function librariesOf(env: Env, { family }: MpiStart): readonly string[] {
  const named = env['OARFISH_MPI_LIBRARY']
  if (named) return [named]
  return family ? LIBRARIES[family] : [...LIBRARIES.openmpi, ...LIBRARIES.mpich]
}
