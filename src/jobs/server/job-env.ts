/** @file What of the server's environment its jobs get: named variables alone, so that no secret of the server reaches a user's program. */

/** Who and where a process is on this host, and how executors find their cluster; none of them is a secret. */
export const JOB_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP', 'TERM'],
  ...['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'SYSTEMROOT'],
  ...['KUBECONFIG', 'OARFISH_SSH', 'OARFISH_WORK', 'OARFISH_PACKAGE', 'OARFISH_MPI_LIBRARY'],
]

/** Settings of Open MPI, PMIx, Slurm and of a pod. */
export const JOB_PREFIXES: readonly string[] = [
  'LC_',
  'OMPI_',
  'PMIX_',
  'PRTE_',
  'SLURM_',
  'SBATCH_',
  'SRUN_',
  'KUBERNETES_SERVICE_',
]

/** `more` are names that whoever started the server added by --pass-env. */
export function jobEnv(env: NodeJS.ProcessEnv, more: readonly string[] = []): NodeJS.ProcessEnv {
  const isPassed = (name: string, value = '') =>
    JOB_VARIABLES.includes(name) ||
    more.includes(name) ||
    JOB_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    isPlainProxy(name, value)
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => isPassed(name, value)))
}

/** A proxy whose address holds a password is a secret. */
const isPlainProxy = (name: string, value: string) => /^(https?|no)_proxy$/i.test(name) && !value.includes('@')
