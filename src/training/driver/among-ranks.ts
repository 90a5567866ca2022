/** @file A rank of a collective job: the steps are those of training alone, made together with the other ranks of a group. */
import { join } from 'node:path'
import { explain } from '../../base/config/index.ts'
import { UserError } from '../../base/util/index.ts'
import { setRank } from '../../data/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { INFERENCE_FOLDER } from '../../inference/export/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { refuseLimits } from '../../weights/params/index.ts'
import type { EpochsFile } from '../../weights/snapshot/index.ts'
import { allGatherJson, type Group } from '../collective/index.ts'
import { largeStepText, scaledModel } from '../ps/index.ts'
import { type ParallelHandle, pushedPart, rankSeed, showClickTables, tableGroups } from '../step/index.ts'
import {
  beginningOf,
  createParams,
  type PassOptions,
  type PassResult,
  type PassStart,
  type Phase,
  Runtime,
} from '../threads/index.ts'
import { LocalEvaluation, LocalTraining } from './alone.ts'
import { noteEpochs, noticeInterrupted } from './checkpoint.ts'
import { readOutcome, readSettings, readTablePlan } from './gathered.ts'
import { exportCheckpoint, exportedModel, inferenceSaver, type SaveInference } from './inference-model.ts'
import {
  type Agree,
  CUTS_TOGETHER,
  type EvaluationJob,
  epochFiles,
  type JobContext,
  type JobCuts,
  readersOf,
  runtimeOptions,
  type SavedInside,
  type TrainingContext,
  type TrainingJob,
  type TrainingStart,
} from './job.ts'
import { PassRecord } from './pass-report.ts'
import { agreeOnRanks, groupExchange, type RankInputs, rankPass } from './rank-input.ts'
import { type OwnList, RankModel } from './rank-model.ts'
import { placeRank, type RankList, readAs } from './rank-places.ts'
import { allSee } from './rank-start.ts'
import { noticeAlone } from './recall-metrics.ts'
import { planTables, type TablePlan } from './table-plan.ts'
import { byFirst } from './worker-model.ts'

/** Trains as a rank of `group`, which stays the caller's to close: with the error, where training rejects. */
export function amongRanks(group: Group, strategy?: unknown): (context: TrainingContext) => TrainingJob {
  return (context) => {
    noticeAlone(context.config.config, context.emit)
    return new Training(group, strategy, context)
  }
}

/** Every rank loads each model and evaluates its part of the data. */
export function evaluateAmongRanks(group: Group): (context: JobContext) => EvaluationJob {
  return (context) => {
    noticeAlone(context.config.config, context.emit)
    return new Evaluation(group, context)
  }
}

class Training extends LocalTraining {
  readonly #group: Group
  readonly #strategy: unknown
  #inputs!: RankInputs
  #plan!: TablePlan
  #whole: RankModel | undefined
  #saveInference: SaveInference | undefined
  /** Of the pass that has paused. */
  #paused: PassRecord | undefined
  /** Of the epoch that the job goes on inside, where it was begun with another number of ranks. */
  #list: RankList | undefined

  constructor(group: Group, strategy: unknown, context: TrainingContext) {
    super(context)
    this.#group = group
    this.#strategy = strategy ?? { a_sync: false }
  }

  override async prepare(): Promise<void> {
    refuseLimits(this.context.config.config.table_parameters, 'on ranks')
    setRank(this.#group.rank, this.#group.size)
    await super.prepare(this.#strategy)
    this.model = scaledModel(this.model, this.context.config.config, this.#group.size)
  }

  async join(): Promise<void> {
    const { config, emit } = this.context
    const [group, model, files] = [this.#group, this.model, this.files]
    const { thread_num: threads } = config.config.runner
    this.#notice(`Rank ${group.rank} of ${group.size}: ${group.description}.`)
    if (!model.distributed)
      this.#notice('The optimizer is taken as fleet.distributedOptimizer(optimizer): ranks step together.')
    if (threads > 1)
      this.#notice(`runner.thread_num ${threads}: a rank trains on one thread; start more processes instead.`)
    if (group.rank === 0 && group.size > 1)
      this.#notice(largeStepText(`${group.size} ranks`, config.config, group.size))
    await agreeOnSettings(group, this.context, model)
    this.#inputs = await agreeOnRanks({ group, config: config.config, model, files, emit })
  }

  override async load(): Promise<TrainingStart> {
    const { resume, emit, rules } = this.context
    const { config } = this.context.config
    const [group, model, files] = [this.#group, this.model, this.files]
    const params = createParams(config, model, model, 1, true)
    this.params = params
    // Ranks may read files of their own, whose sizes differ: the first decides.
    const [plan] = await allGatherJson(group, await planTables(config, model, params, files.train!), readTablePlan)
    this.#plan = plan!
    for (const message of plan!.notices) this.#notice(message)
    this.#saveInference = await this.#inferenceSaver()
    const program = programHash(model.train)
    const checkpoints = { config, params, program, files: files.train!, resume, emit }
    this.#whole = new RankModel(group, checkpoints, plan!.sharded)
    const own = rules.checkpoints
    if (!own) {
      const input = { isShared: this.#inputs.train.part !== undefined, files: files.train! }
      const { start, list } = placeRank(await this.#whole.start(), { group, config, emit, ...input })
      this.#list = list
      return start
    }
    if (rules.schedule) {
      if (plan!.sharded.includes(true)) throw dividedOnline()
      if (group.rank === 0) await own.prepare()
      await group.barrier()
      if (!(await allSee(group, config.runner.model_save_path))) throw unseenOnline(config.runner.model_save_path)
    }
    const start = (await own.load?.({ params })) ?? beginningOf(0)
    if (group.rank === 0) await own.started?.({ params })
    return start
  }

  override async open(): Promise<void> {
    const [model, files] = [this.model, this.files]
    const seed = rankSeed(this.context.config.config.runner.seed, this.#group.rank)
    const trainers = { params: () => this.#handle(), threads: 1, seed }
    const input = { ...readersOf(this.context), exchange: groupExchange(this.#group) }
    this.runtime = await Runtime.open({ ...runtimeOptions(this.context), model, files, trainers, input })
  }

  override readonly agree: Agree = (work, read) =>
    byFirst(this.#group.rank, (outcome) => allGatherJson(this.#group, outcome, readOutcome(read)), work)

  override prefetch(epoch: number): void {
    const files = epochFiles(this.context.rules, 'train', epoch)
    this.runtime!.prefetch(epoch, { ...this.#inputs.train, files })
  }

  override async pass(
    phase: Phase,
    epoch: number,
    from?: PassStart,
    pauses?: PassOptions['pauses'],
  ): Promise<PassResult> {
    const { emit, stop, rules } = this.context
    const files = epochFiles(rules, phase, epoch) ?? this.files[phase] ?? []
    const input = { ...this.#inputs[phase], ...(phase === 'train' && readAs(this.#listIn(epoch))), files }
    const record = this.#paused ?? new PassRecord(from === undefined || from.position.batch === 0)
    const options = { group: this.#group, runtime: this.runtime!, input, stop, emit, pauses, record }
    const result = await rankPass(options, phase, epoch, from)
    this.#paused = result.paused ? record : undefined
    return result
  }

  override get cuts(): JobCuts | undefined {
    const { runner } = this.context.config.config
    // Who has which samples after a global shuffle follows from all shuffles before it.
    if (runner.model_save_path === '' || runner.global_shuffle || this.context.rules.checkpoints) return undefined
    return {
      inStep: true,
      byDefault: CUTS_TOGETHER,
      save: (trained) => this.#whole!.saveCut(trained, this.#listIn(trained.position.epoch)),
    }
  }

  #listIn(epoch: number): OwnList {
    return this.#list?.epoch === epoch ? this.#list.own : {}
  }

  override async save(epoch: number, trained: PassResult): Promise<string | undefined> {
    const own = this.context.rules.checkpoints
    const { rank } = this.#group
    if (!own) {
      const path = await this.#whole!.save(epoch, trained)
      if (rank === 0) await this.#saveInference?.(this.params, epoch)
      return path
    }
    if (!own.saves(epoch)) return undefined
    if (rank === 0) await own.save({ params: this.params }, epoch, trained)
    else await own.follow?.({ params: this.params }, epoch)
    await this.#group.barrier()
    return undefined
  }

  override async note(epochs: EpochsFile): Promise<void> {
    const { config, rules } = this.context
    if (this.#group.rank === 0 && !rules.checkpoints) await noteEpochs(config.config, epochs)
  }

  override async saveInterrupted(trained: PassResult): Promise<SavedInside> {
    const path = await this.#whole!.saveInterrupted(trained, this.#listIn(trained.position.epoch))
    const { global_shuffle } = this.context.config.config.runner
    return { path, notice: global_shuffle ? noticeInterrupted(trained.position.epoch, path) : undefined }
  }

  override digest(): Promise<string> {
    return this.#whole!.digest()
  }

  async finish(): Promise<void> {
    await this.#group.barrier()
  }

  override async close(): Promise<void> {
    await super.close()
    await this.context.rules.checkpoints?.close?.()
    await this.#whole?.close()
  }

  /** Of divided tables no rank has all rows: the checkpoint that was just saved does. */
  async #inferenceSaver(): Promise<SaveInference | undefined> {
    const { config: loaded, emit } = this.context
    const { config } = loaded
    const save = inferenceSaver(config, await exportedModel(this.context, this.model), this.files, emit)
    if (!save || !this.#plan.sharded.includes(true)) return save
    const out = (epoch: number) => join(config.runner.model_save_path, String(epoch), INFERENCE_FOLDER)
    return async (_, epoch) => void (await exportCheckpoint({ config: loaded, out: out(epoch), epoch, emit }))
  }

  #handle(): ParallelHandle {
    const { runner, table_parameters } = this.context.config.config
    const { train, dygraph } = this.model
    return {
      kind: 'parallel',
      local: this.params.handle,
      group: this.#group.handle(),
      program: { state: train.state, tables: train.tables },
      groups: groupsOf(this.model, table_parameters),
      sharded: this.#plan.sharded,
      segments: runner.table_segments,
      differ: dygraph !== undefined || pushedPart(train, this.params.dense.layout) !== undefined,
    }
  }

  #notice(message: string): void {
    this.context.emit({ kind: 'notice', message })
  }
}

class Evaluation extends LocalEvaluation {
  readonly #group: Group
  #inputs!: RankInputs

  constructor(group: Group, context: JobContext) {
    super(context)
    this.#group = group
  }

  async join(): Promise<void> {
    const { config, emit } = this.context
    setRank(this.#group.rank, this.#group.size)
    const { model, files } = this
    this.#inputs = await agreeOnRanks({ group: this.#group, config: config.config, model, files, emit })
  }

  override pass(phase: Phase, epoch: number): Promise<PassResult> {
    const { emit, stop } = this.context
    const input = { ...this.#inputs[phase], files: this.files[phase] ?? [] }
    const record = new PassRecord()
    return rankPass({ group: this.#group, runtime: this.runtime, input, stop, emit, record }, phase, epoch)
  }

  override isStopped(): boolean {
    return false
  }
}

/** Where data and results lie, how much is read ahead and printed: each rank's own business. */
const OWN =
  /^(config|runner\..*_(dir|path)|runner\.(reader_threads|thread_num|infer_thread_num|print_interval|use_gpu|device))$/

/** All ranks must have the same settings and the same model; a key that differs is named. */
async function agreeOnSettings(group: Group, { config }: TrainingContext, model: TracedModel): Promise<void> {
  const settings = Object.entries(explain(config.config)).filter(([key]) => !OWN.test(key))
  const own: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(settings),
    model: programHash(model.train).slice(0, 12),
    optimizer: [model.optimizer, model.tableOptimizers],
  }
  const [first = {}, ...others] = await allGatherJson(group, own, readSettings)
  for (const [i, other] of others.entries()) {
    const keys = new Set([...Object.keys(first), ...Object.keys(other)])
    const different = [...keys].find((key) => JSON.stringify(first[key]) !== JSON.stringify(other[key]))
    if (different !== undefined) throw differs(different, first[different], i + 1, other[different])
  }
}

function dividedOnline(): UserError {
  return new UserError('Online training among ranks needs whole tables on each, and these are divided among them.', {
    code: 'ONLINE_DIVIDED',
    hint: 'raise runner.replicated_table_mb, or train with parameter servers: fleetrun --server_num=2 --worker_num=2 ...',
  })
}

function unseenOnline(folder: string): UserError {
  return new UserError(`A rank does not see what rank 0 publishes in ${folder}: online training goes on from there.`, {
    code: 'ONLINE_FOLDER',
    hint: 'name a folder that all hosts share: -o runner.model_save_path=FOLDER',
  })
}

function differs(key: string, first: unknown, rank: number, other: unknown): UserError {
  const text = (value: unknown) => (value === undefined ? 'its default' : JSON.stringify(value))
  return new UserError(`${key} is ${text(first)} on rank 0 and ${text(other)} on rank ${rank}`, {
    code: 'COLLECTIVE_CONFIG',
    hint: 'start all ranks with the same config.yaml, model files and -o overrides',
  })
}

/** Traces of a dynamic graph differ, so each of its tables is a group of its own. */
function groupsOf({ train, slots, dygraph }: TracedModel, parameters: Parameters<typeof showClickTables>[1]): number[] {
  if (dygraph) return train.tables.map((_, t) => t)
  const sparse = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  return tableGroups(train, sparse, showClickTables(train.tables, parameters, slots))
}
