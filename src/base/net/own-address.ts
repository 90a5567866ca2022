/** @file At which address other hosts reach this one. */
import { networkInterfaces } from 'node:os'

/** The first address at which other hosts can reach this one; loopback where there is none. */
export function reachableAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}
