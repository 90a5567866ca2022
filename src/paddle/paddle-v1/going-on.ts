/** @file A job that somebody starts again: from which of its saved passes it goes on. */
import { type Env, jobUid, startedAgain } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { formatUserError, isUserError, shown } from '../../base/util/index.ts'
import { checkBytes, hasSnapshotOf, newestSnapshots } from '../../weights/snapshot/index.ts'
import type { PassOptions } from './job.ts'

/** The options with the pass from which the job goes on, if it does: the newest whole one that it has saved itself; told to go on, the newest of all. */
export async function goingOnFrom(options: PassOptions, env: Env, emit: EventSink): Promise<PassOptions> {
  const { job, save_dir: folder } = options
  if (job !== 'train') return options
  const newest = await newestPass(folder, env, emit)
  const isAgain = startedAgain(env) || Number(env['OARFISH_RESTART'] ?? 0) > 0
  if (!newest) {
    const where = folder === '' ? 'there is no --save_dir' : `nothing of it is saved in ${shown(folder)}`
    if (isAgain) emit({ kind: 'warning', message: `This job was started before, and ${where}: it begins anew.` })
    return options
  }
  emit({ kind: 'notice', message: `This job was started before: it goes on from ${shown(newest.folder)}.` })
  return { ...options, saved_pass: newest.manifest.position.epoch - 1 }
}

async function newestPass(folder: string, env: Env, emit: EventSink) {
  const uid = jobUid(env)
  if (folder === '') return undefined
  if (!startedAgain(env) && (uid === undefined || !(await hasSnapshotOf(folder, uid, isPass)))) return undefined
  const passedOver = (error: Error) => {
    const text = isUserError(error) ? formatUserError(error) : error.message
    emit({ kind: 'warning', message: `This saved pass is passed over: ${text}` })
  }
  for (const snapshot of await newestSnapshots(folder, passedOver, uid, isPass)) {
    try {
      await checkBytes(snapshot)
      return snapshot
    } catch (error) {
      passedOver(error as Error)
    }
  }
  return undefined
}

const isPass = (name: string) => /^pass-\d{5,}$/.test(name)
