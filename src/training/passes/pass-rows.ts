/**
 * @file The seam of the GPU parameter server: where a trainer thread trains the rows of a pass.
 *
 * A pass has two sides of tables in shared memory (PassHandle.sides): one is trained while the other is filled for the pass that
 * follows. A side is tables like the host's, with exactly the rows that the pass needs: weights and optimizer state, byte for byte as
 * the host has them. Whoever implements PassRows takes a side to where the rows are trained and brings it back:
 *
 *   begin(side)  every row of the side is there; nobody else writes it until end() resolved. A device takes them (step/device-rows.ts);
 *                the CPU trains them where they lie.
 *   training     steps read and update these rows. Plain tables gain no row: all signs of the pass were collected. Tables with
 *                accessors do, where the entry policy admits a sign (SparseTable.push).
 *   end()        the side holds what training made of its rows (SparseTable.load for what lies elsewhere). May be begun again.
 *
 * Evaluation, between passes, sees the host's tables. Dense weights are not part of this: they are LocalParams.dense all the time.
 */
import { type LocalParams, type LocalParamsHandle, RowStore, type RowTableHandle } from '../../weights/params/index.ts'

export type Side = 0 | 1

/** Parameters of a thread that trains pass after pass. */
export interface PassHandle {
  readonly kind: 'pass'
  readonly host: LocalParamsHandle
  readonly sides: readonly [readonly RowTableHandle[], readonly RowTableHandle[]]
  /** Of how many devices this thread has which: it owns the rows whose sign falls to it. */
  readonly device: { readonly index: number; readonly count: number }
}

/** Bytes that went to the device or came from it; 0 where rows are trained in place. */
export interface Moved {
  readonly bytes: number
}

export interface PassRows {
  begin(side: Side): Moved | Promise<Moved>
  end(): Moved | Promise<Moved>
}

/** On the CPU: the thread's parameters look at the side's tables during a pass, and at the host's otherwise. */
export function hostPassRows(params: LocalParams, { sides }: PassHandle, thread: number): PassRows {
  const host = params.rows
  const stores = sides.map((tables) => new RowStore(tables, thread))
  const nothing = { bytes: 0 }
  return {
    begin(side) {
      params.rows = stores[side]!
      return nothing
    },
    end() {
      params.rows = host
      return nothing
    },
  }
}
