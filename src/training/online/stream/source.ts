/** @file What a stream is to a schedule of passes: partitions that grow at their ends, and places in them. */

/** How far each partition was taken; one that is not named, from its beginning. */
export type Positions = Readonly<Record<string, number>>

/** From and to of each partition that has something. */
export type Parts = Readonly<Record<string, readonly [number, number]>>

/** What could be taken now. */
export interface Reach {
  readonly parts: Parts
  readonly records: number
  /** What is there behind the parts, in the unit of the positions. */
  readonly rest: number
  /** Something a user should know: records that are gone, files that are left out. */
  readonly warning?: string | undefined
}

export interface StreamSource {
  /** Of positions: what lag is counted in. */
  readonly unit: 'records' | 'bytes'
  /** Where a job without a place of its own begins. */
  start(): Promise<Positions>
  /** With at most so many records; does not wait for more. */
  look(from: Positions, most: number): Promise<Reach>
  /** Writes parts into a folder that exists, a file for each; a record is a line. */
  write(parts: Parts, folder: string): Promise<void>
  /** Everything before these places is in a checkpoint: told to those who watch the stream. @default nobody is told */
  commit?(to: Positions): Promise<void>
  close(): Promise<void>
}

/** Behind what was taken. */
export const behind = (from: Positions, parts: Parts): Positions => ({
  ...from,
  ...Object.fromEntries(Object.entries(parts).map(([partition, [, to]]) => [partition, to])),
})

/** Of records that each partition has, how many are taken where all may not be: as even as can be. */
export function shares(available: readonly number[], most: number): readonly number[] {
  const taken = available.map(() => 0)
  let left = Math.min(
    most,
    available.reduce((sum, count) => sum + count, 0),
  )
  while (left > 0) {
    const open = available.flatMap((count, i) => (count > taken[i]! ? [i] : []))
    const each = Math.max(1, Math.floor(left / open.length))
    for (const i of open) {
      const more = Math.min(each, available[i]! - taken[i]!, left)
      taken[i]! += more
      left -= more
    }
  }
  return taken
}
