/** @file No flag of the commands that submit jobs is taken without an effect: all of them are walked, and each changes what is asked for, or is refused. */
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { readTrainFlags, TRAIN_FLAGS, type TrainFlags } from '../jobs/submit/index.ts'
import { capture } from './capture.testing.ts'
import { paddlecloudCommand, trainCommand } from './paddlecloud.ts'

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

/** Flags of a command beside those of the table above, and where their effect is shown. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  train: ['job-name', 'group-name', 'start-cmd', 'job-conf', 'files', 'executor', 'force', 'hostfile', 'json'],
}

test('the table has every flag of the command', () => {
  const command = trainCommand(TRAIN_FLAGS, async () => undefined)
  const names = flagsOf(command).filter((name) => !(name in TRAIN_FLAGS))
  expect(names.sort()).toEqual([...ELSEWHERE['train']!].sort())
})

test.each([
  [['--hostfile', 'x'], /--hostfile is for --executor mpi or ssh/],
  [['--force'], /--force is for --executor kubernetes/],
  [['--job-conf', 'none.ini'], /There is no none\.ini/],
  [['--files', 'none.ts'], /there is no none\.ts/],
  [['--executor', 'none'], /--executor/],
])('paddlecloud job train %j is told', async (flags, says) => {
  const words = [
    'job',
    '--ak',
    'a',
    '--sk',
    'b',
    'train',
    '--job-name',
    'x',
    '--group-name',
    'g',
    '--start-cmd',
    'true',
  ]
  const conf = flags.includes('--job-conf') ? [] : ['--job-conf', '/dev/null']
  const command = await paddlecloudCommand({ env: {}, out: { write: () => true }, err: { write: () => true } } as never)
  command.exitOverride()
  const run = command.parseAsync([...words, '--mpi-nodes', '1', ...conf, ...flags], { from: 'user' })
  await expect(run).rejects.toThrow(says)
})

test.each([
  [['--executor', 'none'], /--executor/],
  [['--hostfile', 'x', '--executor', 'mpi'], /there is no x/],
  [['--hostfile', '/dev/null'], /--hostfile: only mpi and ssh have one/],
  [['--namespace', 'x'], /--namespace: only kubernetes has one/],
  [['--tls-cert', '/none.pem'], /tls|cert|key/i],
  [['--dir', '/dev/null/none'], /Jobs cannot be kept in \/dev\/null\/none/],
])('oarfish cloud serve %j is told', async (flags, says) => {
  const { code, err } = await capture(['cloud', 'serve', ...flags], { env: process.env })
  expect([code, err]).toEqual([2, expect.stringMatching(says)])
})

function flagsOf(command: Command): string[] {
  return command.options.map(({ long }) => long!.replace(/^--/, ''))
}
