/** @file What commands over ssh share: how ssh is called, and where jobs are noted. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { CliIo } from './io.ts'
import { packageVersion } from './version.ts'

const CONNECT_SECONDS = 10

export async function sshOptions(io: CliIo, { connectSeconds = CONNECT_SECONDS, install = false } = {}) {
  const { sshWords } = await import('../ssh/index.ts')
  const ssh = sshWords(io.env)
  return { ssh, env: io.env, connectSeconds, install, version: packageVersion() }
}

export const jobRecords = ({ env }: CliIo) =>
  join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'oarfish', 'ssh-jobs')
