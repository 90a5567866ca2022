/** @file `oarfish cluster-host`: started on a host over ssh by a launcher, not by people. */
import { Readable } from 'node:stream'
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { packageVersion } from './version.ts'

export function clusterHostCommand(io: CliIo): Command {
  return new Command('cluster-host').description('Answers a launcher over standard input.').action(async () => {
    const { serveHost } = await import('../ssh/index.ts')
    const print = (line: string) => void io.out.write(line)
    const input = Readable.from(io.input())
    await serveHost({ input, print, env: io.env, version: packageVersion() })
    // What it started goes on, and would keep this process.
    io.exit(0)
  })
}
