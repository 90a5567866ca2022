/** @file Which server owns a sign in a Fleet job: the shards that its tables ask for, dealt out in order. */
import type { Cluster } from '../config/index.ts'
import { type Placement, shardsOf } from '../ps/index.ts'
import type { SettledStrategy } from './settle-strategy.ts'

export function placementOf({ servers }: Cluster, { tableParameters }: SettledStrategy): Placement {
  return { servers: servers.length, shards: shardsOf({ table_parameters: tableParameters }, servers.length) }
}
