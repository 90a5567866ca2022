/**
 * @file One step of a dynamic graph: ops are recorded anew at every step, and what was recorded so far is computed when a
 * value is read. It does not know how programs are run.
 */
import { backward, inference } from '../autodiff/index.ts'
import { Builder, type Program, type TableSpec, type Tensor, type TensorValues } from '../program/index.ts'

/** What a step recorded. Programs of equal keys are the same, so that `build`, which takes long, is for new keys only. */
export interface Traced {
  readonly key: string
  build(): Program
}

export type TracePhase = 'training' | 'inference'

export interface TraceOptions {
  readonly phase: TracePhase
  /** All tables of the model, so that they have the same numbers in every program. */
  readonly tables: readonly TableSpec[]
  /** Runs what a value depends on for the batch of this step and returns its fetch `value`. */
  readonly evaluate: (prefix: Traced) => Promise<TensorValues>
}

export interface Trace {
  /** Where the step's ops are recorded; its tensors can be read. */
  readonly builder: Builder
  /** The whole step: with gradients of `loss` in training. A weight the loss does not depend on has none. */
  finish(fetches: Readonly<Record<string, Tensor>>): Traced
}

export function openTrace({ phase, tables, evaluate }: TraceOptions): Trace {
  const reads = new Map<number, Promise<TensorValues>>()
  const read = (value: Tensor): Promise<TensorValues> => {
    const known = reads.get(value.id)
    if (known) return known
    const values = evaluate(traced('read', { value }, (program) => inference(program, ['value'], phase)))
    reads.set(value.id, values)
    return values
  }
  const builder = new Builder({ read })
  for (const table of tables) builder.table(table)
  const traced = (
    kind: 'step' | 'read',
    fetches: Readonly<Record<string, Tensor>>,
    finish: (program: Program) => Program,
  ): Traced => ({
    key: `${phase} ${kind}\n${builder.fingerprint(fetches)}`,
    build: () => ({ ...finish(builder.build(fetches)), tables }),
  })
  return {
    builder,
    finish: (fetches) =>
      traced('step', fetches, (program) =>
        phase === 'training'
          ? backward(program, 'loss', { unreached: 'none' })
          : inference(program, Object.keys(fetches)),
      ),
  }
}
