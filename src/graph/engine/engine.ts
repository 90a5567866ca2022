/** @file The engine seam: something that runs a Program. It knows nothing of tables, readers or optimizers. */
import type { Program, TensorValues } from '../program/index.ts'

export type TensorData = TensorValues

/** A caller-owned buffer and its actual dimensions for one run. */
export interface TensorView {
  readonly data: TensorData
  readonly dims: readonly number[]
}

/** A compiled program. Inputs are the program's feeds, rows, parameters and state by name; outputs its fetches. */
export interface Session {
  /**
   * Ties buffers to inputs and outputs once, so that a step allocates nothing; they stay the caller's and are read and
   * written in place at every run. Bind again for another batch size. Outputs not named are not returned.
   */
  bind(inputs: Readonly<Record<string, TensorView>>, outputs: Readonly<Record<string, TensorView>>): BoundSession
  /** Runs once and returns every fetch in fresh buffers: for tests and one-off evaluation. */
  run(inputs: Readonly<Record<string, TensorView>>): Promise<Record<string, TensorView>>
  close(): Promise<void>
}

export interface BoundSession {
  /** Blocks this thread while the graph runs. */
  run(): Promise<void>
}

export interface Engine {
  readonly name: string
  compile(program: Program): Promise<Session>
}
