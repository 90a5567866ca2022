/** @file The commands of Slurm, and what they refuse. */
import { execFile } from 'node:child_process'
import type { Env } from '../env/index.ts'
import { UserError } from '../util/index.ts'

const TIMEOUT_MS = 60_000

/** What a command of Slurm prints. */
export function slurm(command: string, words: readonly string[], env: Env, input = ''): Promise<string> {
  return new Promise((done, fail) => {
    const child = execFile(command, [...words], { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (!error) done(stdout)
      else
        fail(
          (error as NodeJS.ErrnoException).code === 'ENOENT' ? noSlurm(command) : slurmRefused(command, stderr, error),
        )
    })
    child.stdin!.on('error', () => undefined) // it ended without reading, and says why
    child.stdin!.end(input)
  })
}

/** Throws where there is no Slurm to submit to. */
export async function findSlurm(env: Env): Promise<void> {
  await slurm('sinfo', ['--version'], env)
}

function noSlurm(command: string): UserError {
  return new UserError(`There is no ${command} on the PATH.`, {
    code: 'SUBMIT_SLURM',
    hint: "Install Slurm's commands (Debian: slurm-client), or run jobs with --executor mpi.",
  })
}

function slurmRefused(command: string, stderr: string, cause: Error): UserError {
  const said = stderr.trim().split('\n').join('; ') || cause.message
  return new UserError(`Slurm refused: ${said}.`, {
    code: 'SUBMIT_SLURM',
    hint: `That was ${command}; sinfo shows what the cluster has. SBATCH_PARTITION and SBATCH_ACCOUNT name partition and account.`,
    cause,
  })
}
