/** @file The hosts of a hostfile. */
import { readFileSync } from 'node:fs'
import { UserError } from '../../base/util/index.ts'
import { parseHosts, type SshHost } from '../ssh/index.ts'

/** The first word of each line, as mpirun's hostfiles have it. */
export function hostsIn(hostfile: string): readonly SshHost[] {
  const words = readFileSync(hostfile, 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().split(/\s+/)[0]!)
    .filter((word) => word !== '')
  const { hosts, problem } = parseHosts(words)
  if (problem !== undefined) throw new UserError(`${hostfile}: ${problem}`, { code: 'SSH_CONF' })
  return hosts
}
