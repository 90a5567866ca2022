/** @file What a run starts from: the newest checkpoint that is whole, the one that the config names, or nothing. */
import { join } from 'node:path'
import { jobUid, processEnv, startedAgain } from '../../base/env/index.ts'
import { formatUserError, isUserError, shown, UserError } from '../../base/util/index.ts'
import {
  inputChanged,
  loadMeter,
  loadSnapshot,
  markInput,
  newestSnapshots,
  openSnapshot,
  otherRun,
  readEpochs,
  runDifferences,
  type Snapshot,
} from '../../weights/snapshot/index.ts'
import { beginningOf } from '../threads/index.ts'
import { type CheckpointOptions, goesOn } from './checkpoint.ts'
import { settingDifferences } from './cut-settings.ts'
import type { TrainingStart } from './job.ts'
import { goesOnByItself } from './own-job.ts'

/** Loads what the run is to start from, if anything; returns where it starts. */
export async function findStart(options: CheckpointOptions): Promise<TrainingStart> {
  const start = await loadStart(options)
  const { runner } = options.config
  const kept = runner.model_save_path !== '' && goesOn(options) ? await readEpochs(runner.model_save_path) : undefined
  return { ...start, history: kept?.epochs.filter(({ epoch }) => epoch < start.position.epoch) }
}

async function loadStart(options: CheckpointOptions): Promise<TrainingStart> {
  const { config, resume, emit } = options
  const { model_save_path, warmup_model_path, model_init_path = warmup_model_path, last_epoch } = config.runner
  const env = processEnv()
  // Who starts the job again means its last cut, whatever the first start was told to begin with.
  if (resume && (last_epoch < 0 || startedAgain(env) || (await goesOnByItself(config)))) {
    if (model_save_path === '') throw nowhereToResume()
    const newest = await resumeFromNewest(options)
    if (newest) return newest
    emit({
      kind: 'notice',
      message: `Nothing to resume in ${shown(model_save_path)}: training starts from the beginning.`,
    })
  }
  if (model_init_path !== undefined) {
    const key = config.runner.model_init_path === undefined ? 'warmup_model_path' : 'model_init_path'
    const snapshot = await openSnapshot(model_init_path, `runner.${key}`)
    await load(snapshot, options, 'weights')
  } else if (last_epoch >= 0) {
    if (model_save_path === '') throw nowhereToResume()
    const snapshot = await openSnapshot(join(model_save_path, String(last_epoch)), 'runner.last_epoch')
    await resumeFrom(snapshot, options)
    return { ...beginningOf(last_epoch + 1), from: snapshot }
  }
  return beginningOf(last_epoch + 1)
}

/** From the newest checkpoint of which every byte is as it was saved: each is compared as it is loaded, so that it is read once. */
async function resumeFromNewest(options: CheckpointOptions): Promise<TrainingStart | undefined> {
  const { config, params, emit } = options
  const passedOver = (error: Error) => {
    const text = isUserError(error) ? formatUserError(error) : error.message
    emit({ kind: 'warning', message: `This checkpoint is passed over: ${text}` })
  }
  /** Files that several may be made of. */
  const broken = new Map<string, Error>()
  for (const snapshot of await newestSnapshots(config.runner.model_save_path, passedOver, jobUid(processEnv()))) {
    const files = Object.keys(snapshot.manifest.files).map((name) => join(snapshot.folder, name))
    const known = files.map((file) => broken.get(file)).find((error) => error !== undefined)
    if (known) passedOver(known)
    else
      try {
        return await resumeFrom(snapshot, options)
      } catch (error) {
        if (!isUserError(error) || error.code !== 'SNAPSHOT_DAMAGED') throw error
        passedOver(error)
        broken.set(error.where?.file ?? '', error)
        if (options.dropRows) await options.dropRows()
        else for (const table of params.tables) table.clear()
      }
  }
  return undefined
}

/** Loads a checkpoint to go on from; says what differs from the run that saved it. */
export async function resumeFrom(snapshot: Snapshot, options: CheckpointOptions): Promise<TrainingStart> {
  const { config, params, program, files, emit } = options
  const { manifest, folder } = snapshot
  const { position, input, ranks, workers } = manifest
  if (input && JSON.stringify(input) !== JSON.stringify(markInput(files))) throw inputChanged(folder)
  const differences = runDifferences(manifest, params, program, config.runner.seed)
  const others = settingDifferences(config, manifest)
  if (manifest.settings && others.length + differences.length > 0)
    throw otherRun(folder, [...new Set([...others, ...differences])])
  const meter = await loadMeter(snapshot) // first: what is damaged must not have changed the weights
  await load(snapshot, options, 'refuse')
  if (differences.length > 0) {
    const message = `This run goes on otherwise than the one that saved ${shown(folder)}:\n  ${differences.join('\n  ')}`
    emit({ kind: 'warning', message })
  }
  if (!ranks && !workers) return { position, meter, from: snapshot }
  // Each finds its place among them, also where there is another number of them now. What was measured goes on at the first.
  return { ...beginningOf(position.epoch), before: meter, ranks, workers, from: snapshot }
}

async function load(
  snapshot: Snapshot,
  { params, storeRows, loadRows, agree, emit }: CheckpointOptions,
  otherOptimizer: 'refuse' | 'weights',
): Promise<void> {
  await loadSnapshot({ snapshot, params, emit, otherOptimizer, storeRows, loadRows, agree })
  emit({ kind: 'loaded', path: shown(snapshot.folder), epoch: snapshot.manifest.position.epoch - 1 })
}

function nowhereToResume(): UserError {
  return new UserError('runner.model_save_path is empty, so there is nothing to resume from', {
    code: 'SNAPSHOT_MISSING',
    hint: 'set runner.model_save_path to the folder that holds the checkpoints',
  })
}
