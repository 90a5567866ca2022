/** @file Where a user's own files are, and the environment in which this package's commands find each other. */
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CliIo } from './io.ts'

export const credentialsFile = (env: CliIo['env']) =>
  env['OARFISH_CREDENTIALS'] ?? join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'oarfish', 'credentials')

/** With this package's commands first on PATH: job.sh is to find the `paddlecloud` that belongs to it, and the kubeconfig from its folder. */
export function environment(env: CliIo['env']): NodeJS.ProcessEnv {
  const bin = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin')
  const kubeconfigs = env['KUBECONFIG']?.split(delimiter).map((file) => file && resolve(file))
  return {
    ...env,
    PATH: [join(bin, 'path'), env['PATH']].join(delimiter),
    ...(kubeconfigs && { KUBECONFIG: kubeconfigs.join(delimiter) }),
  }
}
