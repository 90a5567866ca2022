/** @file What commands over ssh share: how ssh is called, where jobs are noted, and how one runs to its end. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HostsJobOptions } from '../jobs/ssh/index.ts'
import { ExitCode, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { openScreen } from './launch.ts'
import { packageVersion } from './user-places.ts'

const CONNECT_SECONDS = 10
const STOP_SECONDS = 30

interface SshFlags {
  readonly connectSeconds?: number | undefined
  readonly install?: boolean
}

export async function sshOptions(io: CliIo, { connectSeconds = CONNECT_SECONDS, install = false }: SshFlags = {}) {
  const { sshWords } = await import('../jobs/ssh/index.ts')
  const ssh = sshWords(io.env)
  return { ssh, env: io.env, connectSeconds, install, version: packageVersion() }
}

export const jobRecords = ({ env }: CliIo) =>
  join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'oarfish', 'ssh-jobs')

interface HostsFlags {
  readonly install?: boolean
  readonly connect_timeout?: number
  readonly stop_timeout?: number
  readonly host_timeout?: number
  readonly max_restart?: number
  readonly json?: boolean
}

/** Runs a job, whose processes are shown, to its end or until Ctrl+C; throws its exit code when that is not 0. */
export async function runOverSsh(
  flags: HostsFlags,
  io: CliIo,
  run: (options: Omit<HostsJobOptions, 'files'>) => Promise<number | undefined>,
): Promise<void> {
  const { json = false, install = false, connect_timeout: connectSeconds } = flags
  const { stop_timeout: stopSeconds = STOP_SECONDS, host_timeout: awaySeconds, max_restart: maxRestart } = flags
  const { emit, close } = await openScreen(io, json)
  const message = `Stopping the job on all hosts; in ${stopSeconds} s, or by another Ctrl+C, its processes are killed.`
  const hooks = { onStopping: () => emit({ kind: 'notice', message }), onLeaving: close }
  let code: number | undefined
  try {
    await untilInterrupted(io, hooks, async (signal) => {
      const options = await sshOptions(io, { install, connectSeconds })
      const awayMs = awaySeconds === undefined ? undefined : awaySeconds * 1000
      const own = { records: jobRecords(io), now: new Date(), stopMs: stopSeconds * 1000, awayMs, maxRestart }
      code = await run({ ...options, ...own, emit, signal })
    })
  } finally {
    close()
  }
  if (code) throw new ExitCode(code)
}
