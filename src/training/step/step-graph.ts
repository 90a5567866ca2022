/** @file The seam between a step and its graph: rows that the host expands for it, or rows that lie on a device and are trained there. */
import type { BoundSession, Session } from '../../graph/engine/index.ts'
import type { StepBuffers, StepViews } from './buffers.ts'
import { type DistinctBatch, expandRows } from './rows.ts'

/** What runs the graph of a step. */
export interface StepGraph {
  /** The graph trains the rows of the batch itself: there are no gradients of rows to push. */
  readonly trainsRows: boolean
  /** From what was pulled to what the graph reads. */
  expand(buffers: StepBuffers, batch: DistinctBatch): void
  /** Fills the fetches, gradients among them. */
  run(buffers: StepBuffers, batch: DistinctBatch, views: () => StepViews): Promise<void>
  close(): Promise<void>
}

const BOUND_SIZES = 16 // batch sizes and sequence lengths bound at a time

/** Rows are expanded here; their gradients come back to be merged and pushed. */
export function hostGraph(session: Session): StepGraph {
  const boundTo = new WeakMap<StepBuffers, Map<string, BoundSession>>()
  const bind: (...of: Parameters<StepGraph['run']>) => BoundSession = (buffers, { samples, lengths }, views) => {
    const bound = boundTo.get(buffers) ?? new Map<string, BoundSession>()
    boundTo.set(buffers, bound)
    const key = JSON.stringify([samples, lengths])
    const known = bound.get(key)
    if (known) return known
    const { inputs, outputs } = views()
    const made = session.bind(inputs, outputs)
    if (bound.size >= BOUND_SIZES) bound.delete(bound.keys().next().value!)
    bound.set(key, made)
    return made
  }
  return {
    trainsRows: false,
    expand: expandRows,
    run: (...batch) => bind(...batch).run(),
    close: () => session.close(),
  }
}
