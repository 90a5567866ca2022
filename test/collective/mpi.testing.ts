/** @file Starts ranks by the mpirun of Open MPI and of MPICH. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { GroupForm } from '../contracts/group.ts'
import { RANK_PROGRAM, type Running, startProcess } from './ranks.testing.ts'

export interface Starter {
  readonly name: string
  readonly mpirun: readonly string[]
  readonly description: RegExp
  /** What of the contract is run, by the number of ranks. */
  readonly works: GroupForm['works']
}

export const STARTERS: readonly Starter[] = [
  {
    name: 'Open MPI',
    mpirun: ['mpirun.openmpi', '--oversubscribe'],
    description: /^Open MPI \d+\.\d+.*, \d ranks$/,
    works: { 2: 'cases', 3: 'cases-of-both', 4: 'some-cases', 5: 'cases' },
  },
  {
    name: 'MPICH',
    mpirun: ['mpirun.mpich'],
    description: /^MPICH \d+\.\d+.*, \d ranks$/,
    // Its ranks wait without letting others run: more of them than cores take ten times as long.
    works: { 2: 'cases-of-both', 3: 'some-cases', 4: 'some-cases', 5: 'some-cases' },
  },
]

/** Why there is no MPI here; undefined: both are. Installs them where it may. */
export function mpiTools(): string | undefined {
  const script = fileURLToPath(new URL('../../scripts/mpi-tools.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim()
}

/** Open MPI refuses root unless allowed twice; tests in containers are root. */
export const MPI_ENV: NodeJS.ProcessEnv = {
  ...process.env,
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  // Ranks share cores with other tests: one that waits lets others run.
  OMPI_MCA_mpi_yield_when_idle: '1',
}

export function startMpi({ mpirun }: Starter, size: number, work: string, env: NodeJS.ProcessEnv = {}): Running {
  const command = [...mpirun, '-np', String(size), process.execPath, RANK_PROGRAM, JSON.stringify({ work })]
  return startProcess(command, { ...MPI_ENV, ...env })
}
