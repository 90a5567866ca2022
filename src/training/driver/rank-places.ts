/** @file Where a rank goes on inside an epoch that the job may have begun with another number of ranks, and how it reads the rest of it. */
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { inputChanged, markInput } from '../../weights/snapshot/index.ts'
import { placesOfRuns } from '../ps/index.ts'
import { beginningOf, inputOf, type PassInput } from '../threads/index.ts'
import type { TrainingStart } from './job.ts'
import { chunksIn, epochAnew, isDealt, placed, resizedText } from './places.ts'
import { chunkBytesOf } from './rank-input.ts'
import type { OwnList } from './rank-model.ts'

/** What this rank reads of one epoch, where the number of ranks does not say it. */
export interface RankList {
  readonly epoch: number
  readonly own: OwnList
}

export interface RankPlacing {
  readonly group: { readonly rank: number; readonly size: number }
  readonly config: JobConfig
  /** Of training. */
  readonly files: readonly string[]
  /** All ranks have the same files, whose chunks are dealt out. */
  readonly isShared: boolean
  readonly emit: EventSink
}

/** Where this rank was, or what it is given of what the others have not read. */
export function placeRank(
  start: TrainingStart,
  { group, config, files, isShared, emit }: RankPlacing,
): { readonly start: TrainingStart; readonly list?: RankList } {
  const { ranks: places, meter } = start
  if (!places) return { start }
  const { rank: index, size: count } = group
  const input = inputOf(config, 'train', files)
  // As it was when the epoch began, with however many ranks.
  const chunkBytes = places[0]?.chunkBytes ?? chunkBytesOf(files, places.length)
  const chunks = chunksIn(files, input, chunkBytes)
  const now = placed(places, { count, chunks, claims: false, canResize: isDealt(input) && isShared })
  const { epoch } = start.position
  if (!now) {
    emit({ kind: 'warning', message: epochAnew(epoch, places.length, 'ranks') })
    return { start: { ...beginningOf(epoch), history: start.history } }
  }
  const { position, input: mark, claimed, begun } = now[index]!
  if (JSON.stringify(mark) !== JSON.stringify(markInput(files))) throw inputChanged('the cut that the job goes on from')
  if (now !== places && index === 0)
    emit({ kind: 'notice', message: resizedText(places.length, count, 'ranks', epoch) })
  const own = claimed && { claimed, chunkBytes, ...(begun ? { begun } : {}) }
  return {
    start: { ...start, position, meter: meter && { ...meter, batches: position.batch } },
    ...(own ? { list: { epoch, own } } : {}),
  }
}

/** As a reader is asked for it. */
export function readAs({ claimed, begun, chunkBytes }: OwnList): Pick<PassInput, 'claimed' | 'begun' | 'chunkBytes'> {
  return claimed ? { claimed: placesOfRuns(claimed), begun, chunkBytes } : {}
}
