/** @file What must hold when a run is over: every sample once, the bits of the undisturbed run where that is promised, nothing left behind. Each check returns what is wrong. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { EPOCHS, SAMPLES } from './counting.ts'
import type { ChaosJob, Place } from './job.ts'
import { countsOf, digestOf } from './saved.ts'
import { namesIn, type Timeline } from './timeline.ts'

const lastEpoch = (saves: string) => join(saves, String(EPOCHS - 1))
const CLOSE = 1e-3

export function checkCounts(saves: string): readonly string[] {
  if (!existsSync(lastEpoch(saves))) return ['the last epoch is not saved']
  const counts = [...countsOf(lastEpoch(saves))]
  const wrong = counts.filter(([, times]) => Math.abs(times - EPOCHS) > CLOSE)
  const some = wrong.slice(0, 3).map(([id, times]) => `sample ${id} ${times} times`)
  return [
    ...(counts.length === SAMPLES ? [] : [`${counts.length} samples were trained, of ${SAMPLES}`]),
    ...(wrong.length === 0 ? [] : [`${wrong.length} samples were not trained ${EPOCHS} times: ${some.join(', ')}`]),
  ]
}

export function digestOfRun(saves: string): string {
  return digestOf(lastEpoch(saves))
}

export function checkBits(saves: string, undisturbed: string): readonly string[] {
  if (!existsSync(lastEpoch(saves))) return []
  return digestOfRun(saves) === undisturbed ? [] : ['the model is not that of the undisturbed run']
}

/** Beside a log lies the note of the run it belongs to, which the dashboard asks for. */
const KNOWN_LOGS =
  /^(server|worker)log\.\d+$|^\.(server|worker)log\.\d+\.run$|^endpoints\.log$|^train_result_dict\.txt$|^\d+_worker_\w+\.prototxt$/

/** Processes, sockets, shared memory, files. */
export async function checkLeft(job: ChaosJob, { own, saves }: Place, timeline: Timeline): Promise<readonly string[]> {
  const processes = await job.left()
  const ours = new Set([...timeline.pids, ...job.launchers])
  const shared = namesIn('/dev/shm').filter((name) => ours.has(Number(/^oarfish-\d*-(\d+)-/.exec(name)?.[1])))
  const files = [
    ...namesIn(join(own, 'tmp')).map((name) => `tmp/${name}`),
    ...namesIn(saves).flatMap((name) => (/^\d+$/.test(name) ? [] : [`saved/${name}`])),
    ...readdirSync(own)
      .filter((name) => /^log/.test(name))
      .flatMap((log) => namesIn(join(own, log)).flatMap((name) => (KNOWN_LOGS.test(name) ? [] : [`${log}/${name}`]))),
  ]
  return [
    ...processes.map((pid) => `left behind: process ${pid}`),
    ...shared.map((name) => `left behind: /dev/shm/${name}`),
    ...files.map((name) => `left behind: ${name}`),
  ]
}
