/** @file What a process measures of itself beside metrics: norms, what travels, how large its tables are. */

/** Of the trained dense weights and their gradients before clipping; of the rows of a batch and theirs. */
export interface Norms {
  readonly weights: number
  readonly gradients: number
  readonly rows: number
  readonly rowGradients: number
}

/** What travels between a trainer and another process. */
export interface Link {
  /** The other end: `server-0`, `rank-1`. */
  readonly to: string
  readonly sentBytesPerSecond: number
  readonly receivedBytesPerSecond: number
  /** From asking to the answer, on average. */
  readonly answerSeconds: number
  /** Of the time of its threads, how much they had something under way there; above 1 where several requests were at once. */
  readonly busy: number
}

/** Of the samples by their predictions, lowest first, a part: what was predicted for them, and what happened. */
export interface CalibrationPart {
  /** Predictions up to here. */
  readonly to: number
  readonly samples: number
  readonly predicted: number
  readonly happened: number
}

/** A table by level. */
export interface TableSize {
  readonly table: string
  readonly memoryRows: number
  readonly memoryBytes: number
  readonly diskRows: number
  readonly diskBytes: number
}

/** The samples that have one value of a slot. */
export interface Slice {
  readonly value: string
  readonly samples: number
  readonly auc: number
  /** `samples` is the sum of their weights. */
  readonly weighted?: true
}
