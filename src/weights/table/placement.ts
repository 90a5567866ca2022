/** @file Where a row lives: pure functions that workers, servers and saved files agree on. */

/** Logical shards over servers: sign mod shards is the shard; each server has a run of shards. */
export interface Placement {
  readonly shards: number
  readonly servers: number
  /** So many of the servers, the first ones, hold tables; the others hold dense weights. @default all hold both */
  readonly tableServers?: number | undefined
}

/** Paddle's default of table_parameters.*.shard_num on CPU servers. */
export const DEFAULT_SHARDS = 1000

export function shardsPerServer({ shards, servers, tableServers = servers }: Placement): number {
  return Math.ceil(shards / tableServers)
}

/** The server that owns a sign. */
export function serverOf(sign: bigint, placement: Placement): number {
  return Math.floor(shardOf(sign, placement) / shardsPerServer(placement))
}

/** The sign's shard, by its number in the whole table. */
export function shardOf(sign: bigint, { shards }: Placement): number {
  return Number(sign % BigInt(shards))
}

/** The sign's shard, by its number on its server. */
export function localShardOf(sign: bigint, placement: Placement): number {
  return shardOf(sign, placement) % shardsPerServer(placement)
}
