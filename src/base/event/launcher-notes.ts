/** @file What a process of a launched job says to its launcher, in a file beside its log: whether and from where the job can be started again. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs'

const ENDING = '.cuts'

type Note =
  /** It trains with cuts: started again it goes on from the last one, or begins anew where there is none yet. */
  | 'begun'
  /** A cut or an epoch is whole and in its place. */
  | 'saved'
  /** Its part of a cut is taken: the job has come further, though another process knows whether the cut is whole. */
  | 'taken'
  /** It was asked to stop, or another of the job was, and stops with all others: what they have learned is saved, where it can be. */
  | 'stopped'
  /** All epochs are trained. */
  | 'done'
  /** It ends since another process of the job is gone, or not there yet. */
  | 'lost'

interface Notes {
  readonly isRestartable: boolean
  /** There is something to go on from. */
  readonly isSaved: boolean
  /** Cuts and epochs that are whole. */
  readonly saved: number
  /** How often the job has come further, for all that a process that does not save knows. */
  readonly further: number
  readonly isLost: boolean
  readonly isStopped: boolean
  /** Processes that have nothing more to train. */
  readonly done: number
}

/** `log` is that of the process, undefined where it has none: nobody would read it. */
export function noteForLauncher(log: string | undefined, note: Note): void {
  if (!log) return
  try {
    appendFileSync(`${log}${ENDING}`, `${note}\n`)
  } catch {
    // A full disk: the cut itself is there.
  }
}

/** Of all these processes since `forgetNotes`. */
export const readNotes = (logs: readonly string[]): Notes => sumOfNotes(logs.flatMap(notesOf))

/** What they come to; words of other versions count for nothing. */
export function sumOfNotes(notes: readonly string[]): Notes {
  return {
    isRestartable: notes.includes('begun'),
    isSaved: notes.includes('saved'),
    saved: notes.filter((note) => note === 'saved').length,
    further: notes.filter((note) => note === 'saved' || note === 'taken').length,
    isLost: notes.includes('lost'),
    isStopped: notes.includes('stopped'),
    done: notes.filter((note) => note === 'done').length,
  }
}

/** The processes are about to be started, or their job is over. */
export function forgetNotes(logs: readonly string[]): void {
  for (const log of logs) rmSync(`${log}${ENDING}`, { force: true })
}

/** Of this process since `forgetNotes`, one word each. */
export function notesOf(log: string): readonly string[] {
  try {
    return readFileSync(`${log}${ENDING}`, 'utf8').split('\n').slice(0, -1)
  } catch {
    return [] // none yet
  }
}
