/** @file The passes of a job: train, test, save, one after the other; or test what was saved. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import type { PassResult } from '../../training/threads/index.ts'
import { configError } from './errors.ts'
import type { TrainerJob } from './job.ts'

/** Resolves to whether it was interrupted. `note`: what its launcher is told. */
export async function runPasses(job: TrainerJob, emit: EventSink, note: (what: PassNote) => void): Promise<boolean> {
  const { options, tests } = job
  const { start_pass: first, num_passes: passes, saving_period: period, save_dir: folder } = options
  const begin = await loadFirst(job)
  note('begun')
  let [samples, seconds] = [0, 0]
  let last: PassResult | undefined
  let tested: PassResult | undefined
  for (let pass = begin; pass < first + passes; pass++) {
    last = await job.pass('train', pass)
    samples += last.samples
    seconds += last.seconds
    if (!last.interrupted && tests) tested = await job.pass('infer', pass)
    if (last.interrupted || tested?.interrupted) {
      emit({ kind: 'interrupted', epoch: pass, batch: last.lastBatch, samples: last.samples })
      return true
    }
    const due = period > 0 && ((pass + 1 - first) % period === 0 || pass === first + passes - 1)
    if (!due || folder === '') continue
    await job.save(passFolder(folder, pass), pass, (tested ?? last).metrics)
    note(job.isFirst ? 'saved' : 'taken')
  }
  note('done')
  const { metrics = {} } = last ?? {}
  const samplesPerSecond = seconds > 0 ? samples / seconds : 0
  emit({ kind: 'done', samples, seconds, samplesPerSecond, metrics, evaluation: tested?.metrics })
  return false
}

type PassNote = 'begun' | 'saved' | 'taken' | 'done'

/** Loads what training begins with; returns the first pass. A job that goes on has all the passes that it was to have, and saves the same ones. */
async function loadFirst({ options, load }: TrainerJob): Promise<number> {
  const { start_pass: first, save_dir: folder, saved_pass: saved, init_model_path: other } = options
  if (saved === undefined && other !== '') await load(other, false)
  const before = saved ?? first - 1
  if (before >= 0) await load(passFolder(folder, before), true)
  return before + 1
}

/** --job=test: every saved pass from --test_pass on, as many as there are. */
export async function testPasses(job: TrainerJob): Promise<boolean> {
  const { test_pass: first = 0, save_dir: folder, num_passes: passes } = job.options
  if (!job.tests)
    throw configError(
      'There is nothing to test: the configuration names no test list.',
      "defineDataSources('data/train.list', 'data/test.list', process)",
    )
  if (!existsSync(passFolder(folder, first)))
    throw configError(
      `There is no ${passFolder(folder, first)} to test.`,
      '--save_dir is the folder of the saved passes, --test_pass the first of them.',
    )
  for (let pass = first; pass < first + passes && existsSync(passFolder(folder, pass)); pass++) {
    await job.load(passFolder(folder, pass), false)
    if ((await job.pass('infer', pass)).interrupted) return true
  }
  return false
}

/** `output/pass-00003`. */
export function passFolder(folder: string, pass: number): string {
  return join(folder, `pass-${String(pass).padStart(5, '0')}`)
}
