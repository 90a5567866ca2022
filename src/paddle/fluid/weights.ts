/** @file The weights of a program in this process: made by its startup program, shared by whatever runs it. */
import { AUC_BUCKETS, type AucHistogram, addAuc, aucOf } from '../../weights/metric/index.ts'
import { createLocalParams, LocalParams, type LocalParamsHandle } from '../../weights/params/index.ts'
import { changedSinceStartup, notStarted } from './errors.ts'
import type { Program } from './program.ts'
import { tracedModel } from './traced.ts'
import type { AucMeasure, AucPart } from './variable.ts'

/** Trainer threads at most; the thread that runs the program comes after them. */
export const MOST_THREADS = 64

export interface Weights {
  /** As this thread sees them. */
  readonly params: LocalParams
  readonly names: ReadonlySet<string>
}

/** First weights, drawn from the program's seed; what was trained before is forgotten. */
export function startWeights(program: Program): Weights {
  const { parameters, tables } = program.builder.build({})
  const handle = program.minimized ? trainedWeights(program) : fixedWeights(program)
  const weights = {
    params: new LocalParams(handle, MOST_THREADS),
    names: new Set([...parameters, ...tables].map(({ name }) => name)),
  }
  program.weights = weights
  return weights
}

/** The weights that the startup program made; throws where it was not run, or before the last layer was built. */
export function weightsOf(program: Program): Weights {
  const { parameters, tables } = program.builder.build({})
  const all = [...parameters, ...tables]
  if (!program.weights && all.length > 0) throw notStarted(all[0]!.name)
  const weights = program.weights ?? startWeights(program)
  const added = all.find(({ name }) => !weights.names.has(name))
  if (added) throw changedSinceStartup(added.name)
  return weights
}

function trainedWeights(program: Program): LocalParamsHandle {
  const { train, optimizer, tableOptimizers } = tracedModel(program)
  const tableParameters = program.fleet?.tableParameters ?? {}
  return createLocalParams({ program: train, optimizer, tableOptimizers, tableParameters, ...common(program) })
}

/** A program that only computes needs no optimizer's state. */
function fixedWeights(program: Program): LocalParamsHandle {
  const optimizer = { kind: 'sgd', learningRate: 0 } as const
  return createLocalParams({ program: program.builder.build({}), optimizer, ...common(program) })
}

function common({ randomSeed: seed }: Program) {
  return { seed, segments: SEGMENTS, threads: MOST_THREADS + 1 }
}

export const SEGMENTS = 4

/** What an AUC has counted: over everything, and over the last batches. */
export class AucCounts {
  readonly #all = new Float64Array(AUC_BUCKETS)
  readonly #last: AucHistogram[] = []

  add({ slideSteps }: AucMeasure, batch: AucHistogram): void {
    addAuc(this.#all, batch)
    this.#last.push(batch)
    if (this.#last.length > slideSteps) this.#last.shift()
  }

  value(part: AucPart): Float32Array {
    const half = AUC_BUCKETS / 2
    const [all, batch] = [this.#all, this.#batch()]
    const parts: Readonly<Record<AucPart, () => Float32Array>> = {
      auc: () => Float32Array.of(aucOf(all)),
      batch_auc: () => Float32Array.of(aucOf(batch)),
      batch_stat_pos: () => Float32Array.from(batch.subarray(0, half)),
      batch_stat_neg: () => Float32Array.from(batch.subarray(half)),
      stat_pos: () => Float32Array.from(all.subarray(0, half)),
      stat_neg: () => Float32Array.from(all.subarray(half)),
    }
    return parts[part]()
  }

  #batch(): Float64Array {
    const sum = new Float64Array(AUC_BUCKETS)
    for (const counts of this.#last) addAuc(sum, counts)
    return sum
  }
}
