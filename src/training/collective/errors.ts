/** @file What goes wrong in a group, in words: who, doing what, and what to do about it. Each code has a section in docs/reference/errors.md. */
import { isUserError, UserError } from '../../base/util/index.ts'

/** A rank is gone while others count on it. */
export function rankLost(who: string, why: string, during: string | undefined, cause?: unknown): UserError {
  const when = during ? ` during ${during}` : ''
  return new UserError(`${who} is gone${when}: ${why}`, {
    code: 'COLLECTIVE_RANK_LOST',
    hint: `see the log of ${who} for its last lines; every process of the job stops now`,
    cause,
  })
}

/** Nothing was heard of a rank for longer than it may be silent. */
export function rankSilent({ message, hint }: UserError): UserError {
  return new UserError(message, {
    code: 'COLLECTIVE_RANK_LOST',
    hint: `${hint}. An mpirun that was typed goes on from the last cut by the same command with --resume; submitted jobs go on by themselves`,
  })
}

/** A rank says why it stops; the other ranks stop for it. What it passes on of another rank stays as it is. */
export function rankStopped(who: string, reason: Error): UserError {
  if (isUserError(reason) && reason.code.startsWith('COLLECTIVE_')) return reason
  return new UserError(`${who} stopped: ${reason.message}`, {
    code: 'COLLECTIVE_RANK_STOPPED',
    hint: `see the log of ${who}; every process of the job stops now`,
    cause: reason,
  })
}

/** Ranks do different things at the same time: the program is not the same on all of them. */
export function ordersDiffer(one: string, its: string, other: string, others: string): UserError {
  return new UserError(`${one} is at ${its}, while ${other} is at ${others}`, {
    code: 'COLLECTIVE_ORDER',
    hint: 'every rank must make the same calls in the same order: start all of them with the same program, configuration and data',
  })
}

export function portTaken(endpoint: string, cause: unknown): UserError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UserError(`this rank could not listen on ${endpoint}: ${reason}`, {
    code: 'COLLECTIVE_PORT',
    hint: 'another process has the port: end it, or start the job with another --start_port',
    cause,
  })
}

export function ranksMissing(missing: readonly string[], timeoutMs: number): UserError {
  return new UserError(`${missing.join(', ')} did not come in ${timeoutMs} ms`, {
    code: 'COLLECTIVE_RANK_MISSING',
    hint: 'start every rank, and check that the hosts reach each other at these addresses',
  })
}

export function notUnderMpi(): UserError {
  return new UserError('runner.collective is mpi, but no mpirun or srun started this process', {
    code: 'COLLECTIVE_START',
    hint: 'start it with: mpirun -np 4 oarfish train -m config.yaml -o runner.use_fleet=True, or set runner.collective to auto',
  })
}

export function noEndpoints(by: string): UserError {
  return new UserError(`runner.collective is ring, but ${by} does not tell its processes where the others are`, {
    code: 'COLLECTIVE_START',
    hint: 'set runner.collective to mpi, or start the processes with: oarfish launch --ips=10.0.0.1,10.0.0.2 SCRIPT',
  })
}

export function noWorkerEndpoints(workers: number): UserError {
  return new UserError(
    `the ${workers} workers of this job average dense gradients, but none knows where the others are`,
    {
      code: 'COLLECTIVE_START',
      hint: 'start the job with fleetrun or oarfish launch, or give every worker PADDLE_TRAINER_ENDPOINTS=host:port,host:port',
    },
  )
}

export function noLibrary(tried: readonly string[], problems: readonly string[]): UserError {
  return new UserError(`no MPI library was found: ${tried.join(', ')} (${problems.at(-1) ?? 'none named'})`, {
    code: 'COLLECTIVE_NO_MPI',
    hint: 'install Open MPI or MPICH (Debian: apt install openmpi-bin), say where it is by OARFISH_MPI_LIBRARY=/path/libmpi.so, or set runner.collective to ring',
  })
}

export function unknownAbi(path: string, version: string | undefined): UserError {
  const says = version === undefined ? 'is no MPI library' : `says it is "${version.split('\n')[0]!.trim()}"`
  return new UserError(`${path} ${says}: Oarfish knows the interfaces of Open MPI and of MPICH`, {
    code: 'COLLECTIVE_MPI_ABI',
    hint: 'use the mpirun and library of Open MPI, MPICH, Intel MPI or MVAPICH (OARFISH_MPI_LIBRARY=/path/libmpi.so), or set runner.collective to ring',
  })
}

/** mpirun of one MPI with the library of another. */
export function wrongLibrary(library: { path: string; version: string }, started: number, seen: number): UserError {
  return new UserError(
    `mpirun started ${started} processes, but ${library.path} (${library.version}) sees ${seen}: it is the library of another MPI`,
    {
      code: 'COLLECTIVE_NO_MPI',
      hint: 'start with the mpirun of that library, or name the right one: OARFISH_MPI_LIBRARY=/path/libmpi.so',
    },
  )
}

export function mpiFailed(call: string, reason: string): UserError {
  return new UserError(`${call} failed: ${reason}`, {
    code: 'COLLECTIVE_MPI_CALL',
    hint: 'every process of the job stops now; see what mpirun says about the others',
  })
}
