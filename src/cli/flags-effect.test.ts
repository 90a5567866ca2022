/** @file No flag of PaddleCloud's is taken without an effect: for a job of each kind it changes what is asked for, or is refused. The other flags: flags-walk.test.ts. */
import { expect, test } from 'vitest'
import { readTrainFlags, TRAIN_FLAGS, type TrainFlags } from '../jobs/submit/index.ts'

const NOTHING = { data: {}, env: {}, fsUgi: undefined }
const BASE = { jobName: 'ctr', groupName: 'g', startCmd: 'true' }

/** A job of each kind, by the flags that make it one. */
const KINDS: readonly Partial<TrainFlags>[] = [
  { mpiNodes: 2 },
  { mpiNodes: 1, distributeJobType: 'MPI' },
  { k8sTrainers: 2, k8sPsNum: 1 },
  { k8sTrainers: 1 },
  { k8sTrainers: 1, k8sGpuCards: 1 },
]

const VALUES: Readonly<Record<string, string | number>> = {
  'mpi-priority': 'very_high',
  'k8s-priority': 'very_high',
  'mpi-wall-time': '1:00:00',
  'wall-time': '1:00:00',
  'k8s-framework': 'job',
  'distribute-job-type': 'PSERVER',
  'is-standalone': '1',
  permission: 'private',
}

const camel = (name: string) => name.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())

/** The job, or why there is none. */
function asked(flags: object): unknown {
  try {
    return readTrainFlags({ ...BASE, ...flags } as TrainFlags, NOTHING, [])
  } catch (error) {
    return String(error)
  }
}

test.each(Object.entries(TRAIN_FLAGS))('paddlecloud job train --%s', (name, kind) => {
  const value = VALUES[name] ?? (kind === 'count' ? 7 : 'other')
  const effects = KINDS.map((job) => {
    const [without, using] = [asked(job), asked({ ...job, [camel(name)]: value })]
    return JSON.stringify(without) === JSON.stringify(using)
      ? 'none'
      : typeof using === 'string'
        ? 'refused'
        : 'changed'
  })
  // For a job that it is not for it is refused, never passed over; for one at least it means something.
  const silent = effects.filter((effect) => effect === 'none')
  expect([name, silent.length < KINDS.length, effects.includes('changed') || effects.includes('refused')]).toEqual([
    name,
    true,
    true,
  ])
  if (!['distribute-job-type', 'is-standalone'].includes(name)) expect([name, effects]).not.toContain('none')
})
