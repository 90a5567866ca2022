/** @file Passes of a program over a dataset: threads and sessions stay from one pass to the next. */
import { availableParallelism } from 'node:os'
import { programConfig } from '../../base/config/index.ts'
import type { Event, EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { allowNoFiles } from '../../data/index.ts'
import { type PassResult, Runtime, type RuntimeOptions } from '../../training/threads/index.ts'
import { type Dataset, datasetError } from './dataset.ts'
import { periodLine } from './print.ts'
import type { Program } from './program.ts'
import { slotsOf, tracedModel } from './traced.ts'
import type { Variable } from './variable.ts'
import { MOST_THREADS, SEGMENTS, weightsOf } from './weights.ts'

/** Options of Executor.trainFromDataset and inferFromDataset. */
export interface DatasetRunOptions {
  /** @default the default main program */
  readonly program?: Program | undefined
  readonly dataset: Dataset
  /** Threads; 0: as the dataset says. @default 0 */
  readonly thread?: number | undefined
  /** Prints where the time went after the pass. @default false */
  readonly debug?: boolean | undefined
  /** What is printed: AUCs and numbers of the program. */
  readonly fetchList?: readonly Variable[] | undefined
  /** What to call them. @default their names */
  readonly fetchInfo?: readonly string[] | undefined
  /** Batches between two lines. @default 100 */
  readonly printPeriod?: number | undefined
}

type Phase = 'train' | 'infer'
type Pass = Awaited<ReturnType<typeof openPasses>>

export class DatasetRuns {
  readonly #emit: EventSink
  readonly #open = new Map<
    Phase,
    { readonly key: string; readonly program: Program; readonly dataset: Dataset; readonly pass: Pass }
  >()
  #epochs: Record<Phase, number> = { train: 0, infer: 0 }

  constructor(emit: EventSink) {
    this.#emit = emit
  }

  async pass(phase: Phase, options: DatasetRunOptions & { readonly program: Program }): Promise<PassResult> {
    const { dataset, fetchList = [], fetchInfo = [], debug = false } = options
    checkVariables(options.program, fetchList)
    if (dataset.files.length === 0 && !options.program.fleet?.worker)
      throw datasetError('the dataset has no files', "dataset.setFilelist(['part-0', 'part-1'])")
    const passes = await this.#passes(phase, options)
    const shown = fetchList.map(
      (variable, i) => [fetchInfo[i] ?? variable.name, metricName(variable, options.program)] as const,
    )
    passes.listener = (event) => {
      if (event.kind !== 'batch') return this.#emit(event)
      this.#emit(event)
      const values = shown.map(([info, name]) => [info, event.metrics[name] ?? Number.NaN] as const)
      if (values.length > 0) process.stdout.write(`${periodLine(event.batch, values, new Date())}\n`)
    }
    const result = await passes.pass(this.#epochs[phase]++, await dataset.localFiles())
    if (debug) this.#emit({ kind: 'notice', message: breakdownText(result) })
    return result
  }

  async close(): Promise<void> {
    for (const phase of [...this.#open.keys()]) await this.#close(phase)
  }

  async #passes(phase: Phase, options: DatasetRunOptions & { readonly program: Program }): Promise<Pass> {
    const { program, dataset, printPeriod = 100 } = options
    const threads = threadsOf(options, this.#emit)
    const key = [threads, dataset.settings(), printPeriod, program.version, options.debug].join()
    const known = this.#open.get(phase)
    if (known && known.key === key && known.program === program && known.dataset === dataset) return known.pass
    await this.#close(phase)
    const pass = await openPasses(phase, { ...options, threads, printPeriod })
    this.#open.set(phase, { key, program, dataset, pass })
    return pass
  }

  async #close(phase: Phase): Promise<void> {
    const open = this.#open.get(phase)
    this.#open.delete(phase)
    await open?.pass.close()
  }
}

interface OpenOptions {
  readonly program: Program
  readonly dataset: Dataset
  readonly threads: number
  readonly printPeriod: number
}

/** Threads over the program's weights, here or on servers. Those that stay do not keep the process from ending. */
async function openPasses(phase: Phase, { program, dataset, threads, printPeriod }: OpenOptions) {
  const slots = slotsOf(dataset.useVar)
  const pool = await dataset.open(slots)
  const events = { listener: (_: Event) => {} }
  const config = programConfig(
    {
      train_batch_size: dataset.batchSize,
      infer_batch_size: dataset.batchSize,
      thread_num: threads,
      device: 'cpu', // CPUPlace is the one place of a program
      seed: program.randomSeed,
      print_interval: printPeriod,
      table_segments: SEGMENTS,
    },
    process.cwd(),
  )
  const worker = program.fleet?.worker
  const options = {
    config: { ...config, table_parameters: program.fleet?.tableParameters ?? {} },
    files: { [phase]: await dataset.localFiles() },
    input: { slots, readers: { [phase]: worker ? allowNoFiles(pool) : pool } },
    engine: 'ort' as const,
    emit: (event: Event) => events.listener(event),
    signal: new AbortController().signal,
  }
  const runtime = worker ? await worker.openRuntime(options) : await openHere(program, threads, options)
  return {
    set listener(listener: (event: Event) => void) {
      events.listener = listener
    },
    pass: (epoch: number, files: readonly string[]) => runtime.pass(phase, epoch, { input: { files } }),
    close: () => runtime.close(),
  }
}

/** Over weights of this process. */
function openHere(program: Program, threads: number, options: Omit<RuntimeOptions, 'model' | 'trainers'>) {
  const { handle } = weightsOf(program).params
  // Gradients that the other threads compute meanwhile.
  const params = { ...handle, inFlight: threads - 1 }
  return Runtime.open({ ...options, model: tracedModel(program), trainers: { params, threads, idle: true } })
}

/** More threads than files have nothing to read, more than cores only make gradients older. */
function threadsOf({ thread = 0, dataset }: DatasetRunOptions, emit: EventSink): number {
  const asked = thread > 0 ? thread : dataset.thread
  const cores = availableParallelism()
  const threads = Math.max(1, Math.min(asked, dataset.threadLimit, cores, MOST_THREADS))
  if (threads < asked && dataset.noticesThreads(asked)) {
    const why = threads === cores ? `this host has ${cores} cores` : `there are ${dataset.files.length} files`
    emit({ kind: 'notice', message: `${asked} threads were asked for, ${threads} are used: ${why}.` })
  }
  return threads
}

function metricName({ source, name }: Variable, { minimized }: Program): string {
  if (source.kind === 'auc') return source.measure.name
  return minimized?.loss.name === name ? 'loss' : name
}

function checkVariables(program: Program, fetchList: readonly Variable[]): void {
  const wrong = fetchList.find(
    ({ source, shape, program: own }) => own !== program || (source.kind !== 'auc' && shape.join() !== '1'),
  )
  if (wrong)
    throw new UserError(`"${wrong.name}" of fetchList is not a number that the program measures`, {
      code: 'FLUID_FETCH',
      hint: 'over a dataset, fetch what fluid.layers.auc, accuracy, mean or reduceSum returned',
    })
}

function breakdownText({ samples, seconds, breakdown, readerSeconds }: PassResult): string {
  const parts = Object.entries(breakdown).map(([part, spent]) => `${part} ${spent.toFixed(2)} s`)
  return `${samples} instances, ${(samples / seconds).toFixed(0)} instances/s; waited for the reader ${readerSeconds.toFixed(2)} s; over all threads: ${parts.join(', ')}`
}
