/** @file Who a process is in a distributed job: its role, rank and peers. Read from the environment in one place. */

export const ROLES = ['local', 'worker', 'server'] as const
export type Role = (typeof ROLES)[number]

export interface Cluster {
  /** `local`: no distributed environment; train in this process alone. */
  readonly role: Role
  /** This process among those of its role, from 0. */
  readonly rank: number
  /** host:port of every server, by rank. */
  readonly servers: readonly string[]
  /** host:port of every worker, by rank; empty when only their number is known. */
  readonly workers: readonly string[]
  readonly workerNum: number
  /** This process's own host:port. */
  readonly endpoint: string
  /** Names the job, so that a stray client of another is refused. */
  readonly jobId: string
  /** Shared secret of the job. Derived from the server list where nothing sets it: against mix-ups, not attackers. */
  readonly token: string
  /** Listening sockets inherited from the launcher, by port: file descriptors. */
  readonly inherited: Readonly<Record<number, number>>
}
