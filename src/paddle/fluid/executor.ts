/** @file The Executor: runs programs, batch by batch from a feed or pass by pass over a dataset. */
import type { EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { PassResult } from '../../training/threads/index.ts'
import type { Params } from '../../weights/params/index.ts'
import type { FleetWorker } from '../fleet/index.ts'
import { type DatasetRunOptions, DatasetRuns } from './dataset-runs.ts'
import { closed, noOptimizer, trainedBothWays } from './errors.ts'
import { type Feed, feedBatch } from './feed.ts'
import { fluidSink } from './print.ts'
import { defaultMainProgram, Program, TestProgram } from './program.ts'
import { type Fetched, fetchedArray, isRunnable, type Runnable } from './runnable.ts'
import { compileStep, type FluidStep, fetchName, layoutOf, type RunKind, type StepWeights } from './step.ts'
import { aucMeasures, minimizedOf } from './traced.ts'
import type { AucMeasure, Variable } from './variable.ts'
import { AucCounts, startWeights, weightsOf } from './weights.ts'

/** Where a program runs. */
export interface Place {
  readonly kind: 'cpu'
}

/** Where programs run: on the processor. */
export const CPUPlace = (): Place => ({ kind: 'cpu' })

/** What `run` can run: a program, one for testing, a startup program, or what a transpiler or loadInferenceModel gave. */
export type AnyProgram = Program | TestProgram | Runnable

/** Options of Executor.run. */
export interface RunOptions {
  /** @default the default main program */
  readonly program?: AnyProgram | undefined
  readonly feed?: Feed | undefined
  readonly fetchList?: readonly Variable[] | undefined
}

export type InferOptions = Omit<DatasetRunOptions, 'program'> & {
  /** @default the default main program */
  readonly program?: Program | TestProgram | undefined
}

/** Options of Executor. */
export interface ExecutorOptions {
  /** Where progress goes. @default lines on standard output, as fluid prints them */
  readonly emit?: EventSink | undefined
}

export interface StepOptions {
  readonly feed: Feed
  readonly fetchList: readonly Variable[]
  readonly kind: RunKind
  /** @default the program's own */
  readonly weights?: StepWeights | undefined
}

/**
 * Runs programs: step by step, or over a dataset.
 *
 * @example await new Executor(new CPUPlace()).run(defaultStartupProgram())
 */
export class Executor {
  readonly #emit: EventSink
  readonly #steps = new Map<Program, Map<string, FluidStep>>()
  readonly #counts = new Map<AucMeasure, AucCounts>()
  readonly #params = new Map<Program, Params>()
  readonly #trained = new Map<Program, 'exe.run' | 'trainFromDataset'>()
  readonly #datasets: DatasetRuns
  readonly #runnables = new Set<Runnable>()
  /** Trainers that this Executor has connected to their servers. */
  readonly #transpiled = new Set<Program>()
  #batches = 0
  #closed = false

  constructor(_place: Place = CPUPlace(), { emit = fluidSink() }: ExecutorOptions = {}) {
    this.#emit = emit
    this.#datasets = new DatasetRuns(emit)
  }

  /** Runs a program once: a startup program makes weights, any other one computes the fetches and, where it has an optimizer, trains. */
  async run(what: RunOptions | AnyProgram = {}): Promise<Fetched[]> {
    if (this.#closed) throw closed()
    const options: RunOptions = isProgram(what) ? { program: what } : what
    const { program = defaultMainProgram(), feed = {}, fetchList = [] } = options
    if (isRunnable(program)) {
      this.#runnables.add(program)
      return program.run({ executor: this, feed, fetchList, emit: this.#emit })
    }
    if (program instanceof TestProgram) return this.step(program.of, { feed, fetchList, kind: 'test' })
    if (program.startsUp) {
      await this.#startUp(program.startsUp)
      return []
    }
    return this.step(program, { feed, fetchList, kind: program.minimized ? 'train' : 'compute' })
  }

  /** Trains one pass over the files of a dataset, on its threads. */
  trainFromDataset(options: DatasetRunOptions): Promise<PassResult> {
    const { program = defaultMainProgram() } = options
    if (!program.minimized) throw noOptimizer('trainFromDataset')
    return this.#pass('train', options)
  }

  /** Measures one pass over the files of a dataset; weights stay as they are. */
  inferFromDataset({ program, ...options }: InferOptions): Promise<PassResult> {
    return this.#pass('infer', { ...options, program: program instanceof TestProgram ? program.of : program })
  }

  /** Lets the servers know that this trainer is done, and ends what still runs. Calling it twice is harmless. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#datasets.close()
    await Promise.all([...this.#params.values()].map((params) => params.flush()))
    for (const { transpiled } of this.#transpiled) await transpiled?.close()
    for (const runnable of this.#runnables) await runnable.close?.()
    for (const program of [...this.#steps.keys()]) await this.#closeSteps(program)
  }

  /** One batch of a program. */
  async step(program: Program, { feed, fetchList, kind, weights }: StepOptions): Promise<Fetched[]> {
    checkFetches(program, fetchList)
    if (kind === 'train') this.#trains(program, 'exe.run')
    const { host, slots } = await this.#compiled(program, fetchList, kind, weights)
    await host.run(feedBatch(slots, feed, this.#batches++))
    const batch = host.histograms()
    host.reset()
    for (const measure of aucMeasures(program)) {
      const counts = batch[measure.name]
      if (counts) this.#countsOf(measure).add(measure, counts)
    }
    const outputs = host.outputs(fetchList.filter(({ source }) => source.kind !== 'auc').map(fetchName))
    return fetchList.map((variable) => {
      const { source } = variable
      if (source.kind !== 'auc') return fetchedArray(outputs[fetchName(variable)]!)
      const data = this.#countsOf(source.measure).value(source.part)
      return fetchedArray({ data, dims: [data.length] })
    })
  }

  async #startUp(program: Program): Promise<void> {
    // Weights that live on servers begin there.
    if (program.transpiled) {
      this.#transpiled.add(program)
      return program.transpiled.start(this.#emit)
    }
    if (program.fleet?.worker) return
    // What was compiled holds the weights of before.
    await this.#closeSteps(program)
    await this.#datasets.close()
    startWeights(program)
    this.#counts.clear()
  }

  /** Servers count the gradients of each thread: those of a feed and those of a dataset's threads would be taken for each other. */
  #trains(program: Program, way: 'exe.run' | 'trainFromDataset'): void {
    const before = this.#trained.get(program) ?? way
    this.#trained.set(program, way)
    if (before !== way && program.fleet?.worker) throw trainedBothWays(before, way)
  }

  async #closeSteps(program: Program): Promise<void> {
    for (const { host } of this.#steps.get(program)?.values() ?? []) await host.close()
    this.#steps.delete(program)
  }

  #pass(phase: 'train' | 'infer', options: DatasetRunOptions): Promise<PassResult> {
    if (this.#closed) throw closed()
    const { program = defaultMainProgram() } = options
    minimizedOf(program, `${phase}FromDataset`)
    if (phase === 'train') this.#trains(program, 'trainFromDataset')
    return this.#datasets.pass(phase, { ...options, program })
  }

  async #compiled(
    program: Program,
    fetchList: readonly Variable[],
    kind: RunKind,
    weights: StepWeights | undefined,
  ): Promise<FluidStep> {
    const steps = this.#steps.get(program) ?? new Map<string, FluidStep>()
    this.#steps.set(program, steps)
    const key = [kind, ...fetchList.map(({ name }) => name)].join('\n')
    const known = steps.get(key)
    if (known?.version === program.version) return known
    await known?.host.close()
    const step = await compileStep(program, fetchList, kind, weights ?? (await this.#weightsOf(program, kind)))
    steps.set(key, step)
    return step
  }

  async #weightsOf(program: Program, kind: RunKind): Promise<StepWeights> {
    const { fleet } = program
    const worker = fleet?.worker
    if (!fleet || !worker) return { params: weightsOf(program).params, layout: layoutOf(program) }
    // A geo worker trains a copy of its own; what is tested is what the servers hold.
    if (fleet.mode === 'geo' && kind !== 'train') return { params: gatheredParams(worker), layout: layoutOf(program) }
    const params = this.#params.get(program) ?? (await worker.openParams())
    this.#params.set(program, params)
    const layout = layoutOf(program)
    if (fleet.mode === 'geo') return { params, layout }
    return { params, layout, placement: fleet.placement }
  }

  #countsOf(measure: AucMeasure): AucCounts {
    const known = this.#counts.get(measure) ?? new AucCounts()
    this.#counts.set(measure, known)
    return known
  }
}

/** Whole copies of what servers hold, one for each batch. */
function gatheredParams(worker: FleetWorker): Params {
  return {
    pull: async (share, insert) => (await worker.gather()).pull(share, insert),
    push: () => {
      throw new Error('internal: a copy of the weights was trained')
    },
    flush: () => undefined,
  }
}

function isProgram(what: RunOptions | AnyProgram): what is AnyProgram {
  return what instanceof Program || what instanceof TestProgram || isRunnable(what)
}

function checkFetches(program: Program, fetchList: readonly Variable[]): void {
  const foreign = fetchList.find((variable) => variable.program !== program)
  if (foreign)
    throw new UserError(`"${foreign.name}" of fetchList is not a variable of the program that is run`, {
      code: 'FLUID_FETCH',
      hint: 'fetch variables of the same program, or pass it: exe.run({ program, feed, fetchList })',
    })
}
