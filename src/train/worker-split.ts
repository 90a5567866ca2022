/** @file Who reads which chunks of a pass, and the check afterwards that all were read once. */
import { blockOf, type Part } from '../data/index.ts'
import { type Claim, METHODS, type PsMode, type ServerGroup } from '../ps/index.ts'
import { UserError } from '../util/index.ts'

/** The chunks a worker has read in a pass, by their places among `of`. */
export interface ChunksRead {
  readonly chunks: readonly number[]
  readonly of: number
}

/** Asks server 0 for chunks, one at a time. */
export function claimChunks(servers: ServerGroup, pass: string) {
  let sequence = 0
  return async (idle: boolean, chunks: number): Promise<number | undefined> => {
    const claim: Claim = { pass, chunks, sequence: ++sequence, idle }
    const body = Buffer.from(JSON.stringify(claim))
    const answer = await servers.request(0, METHODS.claim, [body], `claim(${pass})`)
    return JSON.parse(Buffer.from(answer).toString('utf8')) ?? undefined
  }
}

/** Where workers need not make every step together, a fast one takes over what a slow one has not begun. */
export function takesOver(mode: PsMode): boolean {
  return mode !== 'sync'
}

/** What this worker read beside its own block; undefined: nothing. */
export function takenOver(pass: string, part: Part, { chunks, of }: ChunksRead): string | undefined {
  const places = Array.from({ length: of }, (_, i) => i)
  const own = new Set(blockOf(places, part))
  const others = chunks.filter((chunk) => !own.has(chunk)).length
  if (others === 0) return undefined
  return `${pass}: worker[${part.index}] read ${chunks.length} of ${of} chunks, ${others} of them for slower workers.`
}

/** Fails unless every chunk was read by exactly one worker; what is kept in memory is read in the first pass alone. */
export function checkSplit(pass: string, read: readonly ChunksRead[]): void {
  const of = Math.max(...read.map((own) => own.of))
  const readers = new Map<number, number>()
  for (const [rank, { chunks }] of read.entries()) {
    for (const chunk of chunks) {
      const other = readers.get(chunk)
      if (other !== undefined) throw wrongSplit(pass, chunk, of, `was read by worker[${other}] and by worker[${rank}]`)
      readers.set(chunk, rank)
    }
  }
  for (let chunk = 0; chunk < of; chunk++)
    if (!readers.has(chunk)) throw wrongSplit(pass, chunk, of, 'was read by no worker')
}

function wrongSplit(pass: string, chunk: number, of: number, how: string): UserError {
  return new UserError(`${pass}: chunk ${chunk + 1} of ${of} ${how}`, {
    code: 'PS_SPLIT',
    hint: 'do not change data files while a job reads them; if nobody did, this is a bug: please report it',
  })
}
