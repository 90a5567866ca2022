/** @file A batch cut into slices, one for each thread: together they are one step, as accurate as a single thread's. */
import type { Batch, Piece } from '../data/index.ts'

/** Slices of nearly equal size, in order; one when there are not enough samples for all. */
export function sliceBatch(batch: Batch, threads: number): Batch[] {
  const slices = batch.size < threads ? 1 : threads
  return Array.from({ length: slices }, (_, i) => {
    const [from, to] = [Math.floor((batch.size * i) / slices), Math.floor((batch.size * (i + 1)) / slices)]
    const slice = { count: slices, share: (to - from) / batch.size }
    return { ...batch, slice, size: to - from, pieces: cutPieces(batch.pieces, from, to) }
  })
}

/** Samples [from, to) of what the pieces hold one after another. */
function cutPieces(pieces: readonly Piece[], from: number, to: number): Piece[] {
  let before = 0
  return pieces.flatMap((piece) => {
    const start = Math.max(from - before, 0)
    const end = Math.min(to - before, piece.to - piece.from)
    before += piece.to - piece.from
    return start < end ? [{ ...piece, from: piece.from + start, to: piece.from + end }] : []
  })
}
