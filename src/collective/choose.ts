/** @file What carries the numbers of this process's group: MPI under mpirun and srun, the ring otherwise. */
import type { Collective } from '../config/index.ts'
import { type Cluster, collectiveFromEnv, type Env, parseEndpoint } from '../env/index.ts'
import { noEndpoints, notUnderMpi, noWorkerEndpoints } from './errors.ts'
import type { GroupPlan } from './plan.ts'

/** The plan that the environment and `runner.collective` ask for; `alone` where there is one process. */
export function groupPlan(env: Env, collective: Collective = 'auto'): GroupPlan {
  const mpi = mpiStart(env)
  if (collective === 'mpi' && !mpi) throw notUnderMpi()
  if (mpi && collective !== 'ring')
    return mpi.size === 1 ? { kind: 'alone' } : { kind: 'mpi', libraries: librariesOf(env, mpi), size: mpi.size }
  const job = collectiveFromEnv(env)
  if (!job && mpi && mpi.size > 1) throw noEndpoints(mpi.by)
  if (!job || job.endpoints.length === 1) return { kind: 'alone' }
  const { rank, endpoints, jobId, token, descriptor } = job
  const identity = { jobId, token }
  return { kind: 'ring', rank, endpoints, identity, ...(descriptor !== undefined && { descriptor }) }
}

/** The ring of a job's workers, where their group is beside servers. */
export function workersRing({ rank, workers, workerNum, jobId, token, inherited }: Cluster): GroupPlan {
  if (workerNum === 1) return { kind: 'alone' }
  const own = workers[rank]
  if (own === undefined) throw noWorkerEndpoints(workerNum)
  const descriptor = inherited[parseEndpoint(own)?.port ?? -1]
  const identity = { jobId, token }
  return { kind: 'ring', rank, endpoints: workers, identity, ...(descriptor !== undefined && { descriptor }) }
}

type Family = 'openmpi' | 'mpich'

interface MpiStart {
  readonly size: number
  /** Who started the processes, for messages. */
  readonly by: string
  /** Whose library can talk to that starter, when it is known. */
  readonly family: Family | undefined
}

/** What each starter tells its processes. srun speaks PMIx with Open MPI and PMI with MPICH. */
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
