/** @file What has travelled between this thread and another process, counted where it is sent and received. */

export interface LinkCount {
  /** The other end: `server-0`, `rank-1`. */
  readonly to: string
  sentBytes: number
  receivedBytes: number
  calls: number
  /** From asking to the answer, summed over calls; those under way at once each count. */
  seconds: number
}

export const newLink = (to: string): LinkCount => ({ to, sentBytes: 0, receivedBytes: 0, calls: 0, seconds: 0 })
