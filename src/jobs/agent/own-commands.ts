/**
 * @file Commands of this package that it starts itself, on other hosts or in the background: the words of each, and what they mean where they
 * arrive, side by side. Their hidden entries in `oarfish cloud` hand the words over as they are.
 */
import { parseArgs } from 'node:util'
import { UserError } from '../../base/util/index.ts'
import { MPI_STEPS, type MpiStep } from './mpi-steps.ts'

/** A node of an ssh job; what it needs to know comes over its input. */
export const AGENT_COMMAND = ['oarfish', 'agent', 'ssh'] as const

/** One rank of mpirun. */
export const nodeCommand = (step: MpiStep): readonly string[] => ['oarfish', 'cloud', 'node', '--step', step]

/** Words after `oarfish cloud node`. */
export function readNode(words: readonly string[]): MpiStep {
  const { step } = readWords(words, { step: { type: 'string' } }).values
  const known = MPI_STEPS.find((each) => each === step)
  if (known === undefined) throw unreadable(`--step: expected ${MPI_STEPS.join(' | ')}`)
  return known
}

/** Within an allocation of Slurm: starts the ranks of the job in this folder. */
export const ranksCommand = (folder: string): readonly string[] => ['oarfish', 'cloud', 'ranks', folder]

/** Words after `oarfish cloud ranks`. */
export const readRanks = (words: readonly string[]) => folderOf(readWords(words, {}).positionals)

export interface SuperviseFlags {
  readonly executor: string
  readonly hostfile?: string | undefined
  readonly namespace?: string | undefined
}

/** Words after `oarfish` for the process that runs one job to its end; the folder of the job comes last. */
export const superviseWords = ({ executor, hostfile, namespace }: SuperviseFlags): readonly string[] => [
  ...['cloud', 'supervise', `--executor=${executor}`],
  ...(hostfile === undefined ? [] : [`--hostfile=${hostfile}`]),
  ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
]

/** Words after `oarfish cloud supervise`. */
export function readSupervise(words: readonly string[]): SuperviseFlags & { readonly folder: string } {
  const text = { type: 'string' } as const
  const { values, positionals } = readWords(words, { executor: text, hostfile: text, namespace: text })
  const { executor = 'local', hostfile, namespace } = values
  return { executor, hostfile, namespace, folder: folderOf(positionals) }
}

function readWords<Options extends Readonly<Record<string, { readonly type: 'string' }>>>(
  words: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true })
  } catch (cause) {
    throw unreadable((cause as Error).message)
  }
}

function folderOf([folder]: readonly string[]): string {
  if (folder === undefined) throw unreadable('the folder of a job is missing')
  return folder
}

const unreadable = (what: string) => new UserError(`${what}.`, { code: 'CLI_OPTION' })
