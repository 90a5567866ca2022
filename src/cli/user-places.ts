/** @file Where a user's own files are, the environment in which this package's commands find each other, and its version. */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { defined, packageFile } from '../base/util/index.ts'
import type { CliIo } from './io.ts'

export const credentialsFile = (env: CliIo['env']) =>
  env['OARFISH_CREDENTIALS'] ?? join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'oarfish', 'credentials')

/** With this package's commands first on PATH: job.sh is to find the `paddlecloud` that belongs to it, and the kubeconfig from its folder. */
export function environment(env: CliIo['env']): NodeJS.ProcessEnv {
  const kubeconfigs = env['KUBECONFIG']?.split(delimiter).map((file) => file && resolve(file))
  return {
    ...env,
    PATH: [packageFile('bin/path'), env['PATH']].join(delimiter),
    ...defined({ KUBECONFIG: kubeconfigs?.join(delimiter) }),
  }
}

export function packageVersion(): string {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version
}
