/** @file Samples between workers, in whatever way they are connected. */

export interface Exchange {
  readonly rank: number
  readonly workers: number
  /**
   * Gives a parcel to every worker, itself included, in each round, and gets theirs, by rank, in the same order on every run.
   * Ends when all have given their last. `name` is used once in a job.
   */
  swap(name: string, rounds: Iterable<readonly Uint8Array[]>): AsyncIterable<readonly Uint8Array[]>
}
