/** @file What a thread and its owner know of each other while the thread sleeps until a command prints. */

/** Shared: the process that the thread runs, and which reads are over. */
export type ProcessNote = Int32Array<SharedArrayBuffer>

const [PROCESS, OVER] = [0, 1] as const
const EVERY_READ = 2 ** 31 - 1

export function createNote(): ProcessNote {
  return new Int32Array(new SharedArrayBuffer(8))
}

/** By the thread: 0 for none. The owner either sees the process or its read is over here already. */
export function noteProcess(note: ProcessNote, pid: number): void {
  Atomics.store(note, PROCESS, pid)
}

export function notedProcess(note: ProcessNote): number {
  return Atomics.load(note, PROCESS)
}

/** By the owner, before it ends the process: this read and all before it are over; by default all there will ever be. */
export function endReads(note: ProcessNote, read = EVERY_READ - 1): void {
  Atomics.store(note, OVER, Math.max(Atomics.load(note, OVER), read + 1))
}

export function isOver(note: ProcessNote, read: number): boolean {
  return Atomics.load(note, OVER) > read
}
