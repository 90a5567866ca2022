/** @file The logs of a job on its hosts, read over ssh: those there are, or as they grow until the job is over. */
import { setTimeout as sleep } from 'node:timers/promises'
import { quoted } from '../../base/util/index.ts'
import { type OpenHostsOptions, openHosts } from './open-hosts.ts'
import type { JobRecord } from './record.ts'
import type { RemoteHost } from './remote-host.ts'

export interface JobLogsOptions extends OpenHostsOptions {
  readonly record: JobRecord
  /** trainer or pserver. @default both */
  readonly role?: string | undefined
  /** Number of the host. @default all */
  readonly rank?: number | undefined
  /** Ends following once everything that was written has been given. */
  readonly isOver: () => boolean
}

const LOGS: Readonly<Record<string, readonly string[]>> = {
  trainer: ['log/train.log', 'log/workerlog.*'],
  pserver: ['log/server.log', 'log/serverlog.*'],
}
const POLL_MS = 1000

/** Each piece under the host and the file that it is of. */
export async function* jobLogs({ record, role, rank, isOver, ...options }: JobLogsOptions): AsyncGenerator<string> {
  const patterns = Object.entries(LOGS).flatMap(([name, files]) => (role === undefined || role === name ? files : []))
  const wanted = record.hosts.filter((_host, i) => rank === undefined || rank === i)
  if (wanted.length === 0 || patterns.length === 0) return
  const hosts = await openHosts(wanted, options)
  const positions = new Map<string, number>()
  try {
    for (;;) {
      const over = isOver()
      for (const host of hosts.all)
        for (const file of await filesOf(host, record.folder, patterns)) {
          const key = `${host.host.name}:${file}`
          const { out } = await host.channel.run(
            `tail -c +${(positions.get(key) ?? 0) + 1} ${quoted(`${record.folder}/${file}`)}`,
          )
          if (out === '') continue
          positions.set(key, (positions.get(key) ?? 0) + Buffer.byteLength(out))
          yield `==> ${key} <==\n${out.endsWith('\n') ? out : `${out}\n`}`
        }
      if (over) return
      await sleep(POLL_MS)
    }
  } finally {
    await hosts.close()
  }
}

async function filesOf(
  { channel }: RemoteHost,
  folder: string,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const { out } = await channel.run(`cd ${quoted(folder)} && ls ${patterns.join(' ')} 2>/dev/null; true`)
  return out.split('\n').filter((file) => file.startsWith('log/'))
}
