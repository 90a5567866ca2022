/** @file What goes wrong between workers and servers, in words. */
import { UserError } from '../../base/util/index.ts'
import type { WaitingPlaces } from './all-gather.ts'

const MEGABYTE = 1024 * 1024

export function memoryLimit(who: string, usedBytes: number, limitBytes: number): UserError {
  const [used, limit] = [usedBytes, limitBytes].map((bytes) => Math.round(bytes / MEGABYTE))
  return new UserError(`the tables of ${who} take ${used} MB, its limit is ${limit} MB: it takes no new rows`, {
    code: 'PS_MEMORY_LIMIT',
    hint: 'start more servers, shrink the table (smaller dim, an optimizer with less state), or raise runner.server_memory_mb',
  })
}

export function missingWorkers(what: string, awaited: readonly number[], timeoutMs: number): UserError {
  return new UserError(`${what}: ${workers(awaited)} did not come in ${timeoutMs} ms, though alive`, {
    code: 'PS_MISSING_WORKERS',
    hint: `see the log of ${workers(awaited)}; every worker must take part in ${what}`,
  })
}

/** Some workers wait elsewhere or have left: nobody will come any more. */
export function workersApart(what: string, places: WaitingPlaces): UserError {
  const where = Object.entries(places).map(
    ([rank, place]) => `worker[${rank}] ${place === null ? 'has left' : `waits at ${place}`}`,
  )
  return new UserError(`${what}: not all workers take part; ${where.join(', ')}`, {
    code: 'PS_WORKERS_APART',
    hint: `every worker must call it, in the same order: take ${what} out of "if (fleet.isFirstWorker())"`,
  })
}

export function workers(ranks: readonly number[]): string {
  return ranks.map((rank) => `worker[${rank}]`).join(', ')
}

export function notAWorker(workers: number) {
  return { refusal: `it is not one of ${workers} workers`, hint: 'check PADDLE_TRAINER_ID' }
}

export function twoOfRank(rank: number, first: string, second: string) {
  return {
    refusal: `worker[${rank}] was started twice, at ${first} and at ${second}`,
    hint: 'give every worker its own PADDLE_TRAINER_ID',
  }
}

export function filesDiffer(a: number, b: number, file: string): UserError {
  return new UserError(
    `split_file_list is on, but the data of worker[${a}] and worker[${b}] differ, first at ${file}: dealing it out would lose or repeat samples`,
    {
      code: 'PS_FILES_DIFFER',
      hint: 'give every worker the same files, or set runner.split_file_list=False so that each reads all of its own',
    },
  )
}
