/** @file Where a user's own files are, and the environment in which this package's commands find each other. */
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CliIo } from './io.ts'

export const credentialsFile = (env: CliIo['env']) =>
  env['OARFISH_CREDENTIALS'] ?? join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'oarfish', 'credentials')

/** With this package's commands first on PATH: job.sh is to find the `paddlecloud` that belongs to it. */
export function environment(env: CliIo['env']): NodeJS.ProcessEnv {
  const bin = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin')
  return { ...env, PATH: [join(bin, 'path'), env['PATH']].join(delimiter) }
}
