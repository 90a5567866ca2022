/** @file The command that starts one rank on each node: Open MPI's mpirun, or MPICH's. Placement is theirs. */
import { spawnSync } from 'node:child_process'
import { UserError } from '../util/index.ts'

export interface MpirunOptions {
  readonly nodes: number
  readonly hostfile?: string | undefined
  /** Variables that ranks on other hosts get from this process's environment; their values are on no command line. */
  readonly variables: readonly string[]
  readonly command: readonly string[]
  readonly isRoot: boolean
}

export type MpiFamily = 'openmpi' | 'mpich'

export function mpirunWords(
  { nodes, hostfile, variables, command, isRoot }: MpirunOptions,
  family: MpiFamily,
): readonly string[] {
  if (family === 'mpich')
    return [
      'mpirun',
      '-n',
      String(nodes),
      ...(hostfile ? ['-f', hostfile, '-ppn', '1'] : []),
      '-genvlist',
      variables.join(','),
      ...command,
    ]
  return [
    ...['mpirun', '-np', String(nodes), '--oversubscribe'],
    ...(isRoot ? ['--allow-run-as-root'] : []),
    ...(hostfile ? ['--hostfile', hostfile, '--map-by', 'node'] : []),
    ...variables.flatMap((name) => ['-x', name]),
    ...command,
  ]
}

/** Which mpirun is on the PATH; an error that says what to install where there is none. */
export function findMpirun(env: NodeJS.ProcessEnv): MpiFamily {
  const { stdout, error } = spawnSync('mpirun', ['--version'], { env, encoding: 'utf8' })
  if (error)
    throw new UserError('There is no mpirun on the PATH.', {
      code: 'SUBMIT_MPIRUN',
      hint: 'Install Open MPI (Debian: openmpi-bin) or MPICH (mpich), or run jobs with --executor local.',
    })
  return /Open MPI|open-mpi|OpenRTE/i.test(stdout) ? 'openmpi' : 'mpich'
}
