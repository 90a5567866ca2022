/** @file Which server owns a sign in a Fleet job: the shards that its tables ask for, dealt out in order. */
import type { Cluster } from '../env/index.ts'
import { type Placement, shardsOf } from '../ps/index.ts'
import type { SettledStrategy } from './settle-strategy.ts'

export function placementOf({ servers, tableServers }: Cluster, { tableParameters }: SettledStrategy): Placement {
  const shards = shardsOf({ table_parameters: tableParameters }, servers.length)
  return { servers: servers.length, shards, ...(tableServers !== undefined && { tableServers }) }
}
