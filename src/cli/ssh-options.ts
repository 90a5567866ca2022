/** @file What commands over ssh share: how ssh is called, and where jobs are noted. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { CliIo } from './io.ts'
import { packageVersion } from './version.ts'

const CONNECT_SECONDS = 10

/** OARFISH_SSH may hold another command line, such as `ssh -F other_config`. */
export function sshOptions(io: CliIo, { connectSeconds = CONNECT_SECONDS, install = false } = {}) {
  const ssh = (io.env['OARFISH_SSH'] ?? 'ssh').split(/\s+/).filter((word) => word !== '')
  return { ssh, env: io.env, connectSeconds, install, version: packageVersion() }
}

export const jobRecords = ({ env }: CliIo) =>
  join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'oarfish', 'ssh-jobs')
