/** @file `fluid.io`: weights and models for inference, saved and loaded. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processEnv } from '../../base/env/index.ts'
import { type OwnFolderOptions, ownFolder } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Columns } from '../../data/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { openExport, Scorer } from '../../inference/export/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../../weights/snapshot/index.ts'
import { feedMissing } from './errors.ts'
import type { Executor } from './executor.ts'
import { feedBatch } from './feed.ts'
import { TARGETS_FILE, type Target, targetValue, writeInferenceModel } from './inference-model.ts'
import { fluidSink } from './print.ts'
import { defaultMainProgram, Program } from './program.ts'
import { type Fetched, fetchedArray, type RunContext, type Runnable } from './runnable.ts'
import { Variable } from './variable.ts'
import { weightsOf } from './weights.ts'

/** Writes a folder that `oarfish predict`, `oarfish serve` and loadInferenceModel open. */
export async function saveInferenceModel(
  dirname: string,
  feededVarNames: readonly string[],
  targetVars: readonly Variable[],
  _executor: Executor,
  { mainProgram = targetVars[0]?.program ?? defaultMainProgram() }: { readonly mainProgram?: Program } = {},
): Promise<void> {
  const lock = await ownFolder(dirname, writerOf('fluid.io.saveInferenceModel'))
  const params = await paramsOf(mainProgram)
  await writeInferenceModel(mainProgram, { dirname, feeds: feededVarNames, targets: targetVars, params, lock })
}

/** [program, names of its data, its targets]: run it with `exe.run({ program, feed, fetchList: targets })`. */
export async function loadInferenceModel(
  dirname: string,
  _executor: Executor,
): Promise<readonly [InferenceProgram, readonly string[], readonly Variable[]]> {
  const text = await readFile(join(dirname, TARGETS_FILE), 'utf8').catch((cause: unknown) => {
    throw new UserError(`there is no ${TARGETS_FILE} in ${dirname}`, {
      code: 'FLUID_LOAD',
      cause,
      hint: 'name a folder that fluid.io.saveInferenceModel wrote',
    })
  })
  const { feeds, targets } = JSON.parse(text) as { feeds: readonly string[]; targets: readonly Target[] }
  const program = new InferenceProgram(await Scorer.open(await openExport(dirname)), targets)
  return [program, feeds, program.targets]
}

/** A loaded model: it computes its targets, and nothing is trained. */
export class InferenceProgram implements Runnable {
  readonly runnable = true
  readonly targets: readonly Variable[]
  readonly #scorer: Scorer
  readonly #plans: ReadonlyMap<Variable, Target>

  constructor(scorer: Scorer, targets: readonly Target[]) {
    const program = new Program()
    const variables = targets.map(
      ({ name }) =>
        [new Variable(program, { name, dtype: 'float32', shape: [-1], source: { kind: 'data', dims: [] } })] as const,
    )
    this.#scorer = scorer
    this.targets = variables.map(([variable]) => variable)
    this.#plans = new Map(targets.map((target, i) => [this.targets[i]!, target]))
  }

  async run({ feed, fetchList }: RunContext): Promise<Fetched[]> {
    const needed = this.#scorer.manifest.slots.filter((slot) => slot.needed)
    const [piece] = feedBatch(needed, feed, 0).pieces
    const all = this.#scorer.manifest.slots
    // The scorer counts every slot of the program; those it does not need are empty.
    const columns = needed.length === all.length ? (piece!.chunk as unknown as Columns) : widened(all, feed, piece!.to)
    const { outputs } = await this.#scorer.score(columns)
    const fed = (name: string) => {
      const value = feed[name]
      if (value === undefined) throw feedMissing(name, Object.keys(feed))
      return value
    }
    return fetchList.map((variable) => fetchedArray(targetValue(this.#plans.get(variable)!, outputs, fed)))
  }

  async close(): Promise<void> {
    await this.#scorer.close()
  }
}

function widened(slots: Scorer['manifest']['slots'], feed: RunContext['feed'], samples: number): Columns {
  const filled = slots.map((slot) => {
    const empty = slot.kind === 'sparse' ? [0] : new Array<number>(slot.width).fill(0)
    return [slot.name, feed[slot.name] ?? Array.from({ length: samples }, () => empty)] as const
  })
  return feedBatch(slots, Object.fromEntries(filled), 0).pieces[0]!.chunk as unknown as Columns
}

/** All weights, rows and optimizer state, as a checkpoint. */
export async function savePersistables(
  _executor: Executor,
  dirname: string,
  mainProgram: Program = defaultMainProgram(),
): Promise<void> {
  const lock = await ownFolder(dirname, writerOf('fluid.io.savePersistables'))
  const params = await paramsOf(mainProgram)
  const { randomSeed: seed } = mainProgram
  const position = { epoch: 0, batch: 0, chunk: 0, sample: 0 }
  const state = { program: programHash(mainProgram.builder.build({})), seed, position, metrics: {} }
  await saveSnapshot({ folder: dirname, params, state, emit: fluidSink(), lock })
}

/** Programs of one job have its addresses in common; where all of them save, as some do, they are one writer. */
function writerOf(key: string): OwnFolderOptions {
  const env = processEnv()
  const job = JOB_VARIABLES.map((name) => env[name]).find((value) => value)
  return { key, job, onWait: (message) => fluidSink()({ kind: 'notice', message }) }
}

const JOB_VARIABLES = [
  'OARFISH_JOB_ID',
  'PADDLE_PSERVERS_IP_PORT_LIST',
  'PADDLE_PSERVER_IPS',
  'PADDLE_TRAINER_ENDPOINTS',
]

/** What savePersistables wrote, into this program. */
export async function loadPersistables(
  _executor: Executor,
  dirname: string,
  mainProgram: Program = defaultMainProgram(),
): Promise<void> {
  const snapshot = await openSnapshot(dirname, 'loadPersistables')
  const params = await paramsOf(mainProgram)
  await loadSnapshot({ snapshot, params, emit: fluidSink(), otherOptimizer: 'weights' })
  await mainProgram.fleet?.worker?.scatter(params)
}

/** The program's weights: this process's own, or a copy of what the servers hold. */
async function paramsOf(program: Program): Promise<LocalParams> {
  return (await program.fleet?.worker?.gather()) ?? weightsOf(program).params
}
