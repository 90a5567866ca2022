/** @file What of the server's environment its jobs get: named variables alone, so that no secret of the server reaches a user's program. */
import type { ExecutorName } from '../executors/index.ts'

/** Who and where a process is on this host; none of them is a secret. */
export const JOB_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP', 'TERM'],
  ...['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'SYSTEMROOT'],
  ...['OARFISH_WORK', 'OARFISH_PACKAGE'],
]

export const JOB_PREFIXES: readonly string[] = ['LC_']

const MPI = ['OMPI_', 'PMIX_', 'PRTE_', 'OARFISH_MPI_LIBRARY']

/** How a supervisor finds the cluster of its executor, by what a name begins with; other executors' jobs get nothing of it. */
export const CLUSTER_PREFIXES: Readonly<Record<ExecutorName, readonly string[]>> = {
  local: [],
  mpi: [...MPI, 'OARFISH_SSH'],
  ssh: ['OARFISH_SSH'],
  slurm: [...MPI, 'SLURM_', 'SBATCH_', 'SRUN_'],
  kubernetes: ['KUBECONFIG', 'KUBERNETES_SERVICE_'],
}

export interface JobEnvOptions {
  readonly executor: ExecutorName
  /** Names that whoever started the server added by --pass-env. */
  readonly more: readonly string[]
}

export function jobEnv(env: NodeJS.ProcessEnv, { executor, more }: JobEnvOptions): NodeJS.ProcessEnv {
  const isPassed = (name: string, value = '') =>
    JOB_VARIABLES.includes(name) ||
    more.includes(name) ||
    [...JOB_PREFIXES, ...CLUSTER_PREFIXES[executor]].some((prefix) => name.startsWith(prefix)) ||
    isPlainProxy(name, value)
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => isPassed(name, value)))
}

/** A proxy whose address holds a password is a secret. */
const isPlainProxy = (name: string, value: string) => /^(https?|no)_proxy$/i.test(name) && !value.includes('@')
