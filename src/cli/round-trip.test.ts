/** @file What is written into command lines and files arrives as it was meant: job.sh and config.ini, and commands that oarfish starts itself. */
import { spawnSync } from 'node:child_process'
import * as fc from 'fast-check'
import { assert as forAll, property } from 'fast-check'
import { expect, test } from 'vitest'
import { JOB_KINDS, POD_FRAMEWORKS, PRIORITIES } from '../base/config/index.ts'
import { shellLine } from '../base/util/index.ts'
import {
  MPI_STEPS,
  nodeCommand,
  ranksCommand,
  readNode,
  readRanks,
  readSupervise,
  superviseWords,
} from '../jobs/agent/index.ts'
import { renderConfigIni } from '../jobs/submit/config-ini.ts'
import { jobScript } from '../jobs/submit/folder.ts'
import {
  type DescribedJob,
  type Job,
  parseConfigIni,
  readTrainFlags,
  TRAIN_FLAGS,
  type TrainFlags,
} from '../jobs/submit/index.ts'
import { saidOf } from '../jobs/submit/train-flags.ts'
import { trainCommand } from './paddlecloud.ts'

const words = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !text.includes('\0'))
/** No flag takes a value that begins like another flag. */
const value = words.filter((text) => !text.startsWith('-'))
const optional = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined })
const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/)
const count = fc.integer({ min: 1, max: 9999 })

const pods = fc.record({
  framework: fc.constantFrom(...POD_FRAMEWORKS),
  image: optional(value),
  namespace: optional(name),
  scheduler: optional(name),
  serviceAccount: optional(name),
  pullSecrets: optional(fc.array(name, { minLength: 1, maxLength: 3 })),
  maxRetry: optional(fc.nat(99)),
})
const resources = fc.record({ cpu: count, memory: fc.constantFrom('4Gi', '512Mi', 'a b') })
const gpu = optional(fc.record({ cards: count, resource: fc.constantFrom('nvidia.com/gpu', 'amd.com/gpu') }))
const path = optional(fc.stringMatching(/^\/[\w/. ]{0,10}[\w/]$/))

const jobs: fc.Arbitrary<DescribedJob> = fc
  .record({
    kind: fc.constantFrom(...JOB_KINDS),
    ...{ name, group: value, priority: fc.constantFrom(...PRIORITIES), command: words, pods, count, servers: count },
    ...{ trainer: resources, server: resources, gpu, paths: fc.array(path, { minLength: 6, maxLength: 6 }) },
    env: fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), fc.stringMatching(/^\w[\w=./ ]{0,8}\w$/)),
  })
  .map(({ kind, count: trainers, servers, trainer, server, gpu: cards, paths, env, pods: settings, ...job }) => {
    const onMpi = kind.endsWith('_MPI')
    const [fileSystem, output, train, testing, thirdparty, mount] = paths
    const replicas = kind === 'SINGLE_K8S' ? 1 : trainers
    const roles: DescribedJob['roles'] = [
      ...(kind.startsWith('PS_')
        ? [{ name: 'pserver', replicas: onMpi ? replicas : servers, resources: onMpi ? {} : server } as const]
        : []),
      { name: 'trainer', replicas, resources: onMpi ? {} : { ...trainer, gpu: cards } },
    ]
    return {
      ...saidOf(kind, roles),
      wallSeconds: trainers,
      ...job,
      kind,
      // A command that begins with python is another one on the nodes.
      command: `: ${job.command}`,
      env: { ...env, PADDLEREC_CLUSTER_TYPE: onMpi ? 'MPI' : 'K8S', DISTRIBUTE_MODE: kind },
      data: { fileSystem, output, ...(onMpi ? { train, test: testing, thirdparty } : { mount }) },
      roles,
      pods: onMpi ? undefined : settings,
    }
  })

test('a job arrives behind job.sh as it was described', { timeout: 60_000 }, async () => {
  await forAll(
    fc.asyncProperty(jobs, async (described) => {
      const job: Job = { ...described, files: [], secrets: { profile: 'p', env: ['fs_ugi'] } }
      const script = jobScript({ job, startCommand: described.command, version: '1' })
      const flags = await parsed(shellWords(script.replace(/exec paddlecloud .* train/, "printf '%s\\0'")))
      const { data, env, fsUgi } = parseConfigIni(renderConfigIni(job), 'config.ini')
      const { storage_type: _1, force_reuse_output_path: _2, mount_afs: _3, afs_local_mount_point: _4, ...own } = env
      expect(readTrainFlags(flags, { data, env: own, fsUgi }, [])).toEqual(described)
      expect(fsUgi).toBe('credentials:p')
    }),
    { numRuns: 60 },
  )
})

test('commands that oarfish starts itself are read as they were written', async () => {
  for (const step of MPI_STEPS) expect(readNode(nodeCommand(step).slice(3))).toBe(step)
  const folder = words.map((text) => `/${text}`)
  await forAll(
    property(folder, (given) => {
      expect(readRanks(ranksCommand(given).slice(3))).toBe(given)
    }),
  )
  await forAll(
    property(folder, optional(words), optional(words), (given, hostfile, namespace) => {
      const flags = { executor: 'mpi', hostfile, namespace }
      expect(readSupervise([...superviseWords(flags).slice(2), given])).toEqual({ ...flags, folder: given })
    }),
  )
})

test('a shell gives back the words of a line', async () => {
  await forAll(
    property(fc.array(words, { minLength: 1, maxLength: 5 }), (given) => {
      expect(shellWords(`printf '%s\\0' ${shellLine(given)}`)).toEqual(given)
    }),
    { numRuns: 50 },
  )
})

function shellWords(script: string): readonly string[] {
  const { stdout, stderr } = spawnSync('sh', ['-c', script, './job.sh'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\0').slice(0, -1)
}

/** By commander, as the command itself does. */
async function parsed(given: readonly string[]): Promise<TrainFlags> {
  let flags: TrainFlags | undefined
  const command = trainCommand(TRAIN_FLAGS, async (typed) => {
    flags = typed
  })
  // The files of the folder the test runs in.
  const [from, to] = [given.indexOf('--files'), given.indexOf('--job-version')]
  await command.parseAsync(given.toSpliced(from, to - from), { from: 'user' })
  return flags!
}
