/** @file What a thread and its owner know of each other while the thread sleeps until a command prints. */

/** Shared: the process that the thread runs, which reads are over, how many processes it has yet to see the end of, and the one that it keeps between reads. */
export type ProcessNote = Int32Array<SharedArrayBuffer>

const [PROCESS, OVER, STARTED, RESIDENT] = [0, 1, 2, 3] as const
const EVERY_READ = 2 ** 31 - 1

export function createNote(): ProcessNote {
  return new Int32Array(new SharedArrayBuffer(16))
}

/** By the thread: 0 for none. The owner either sees the process or its read is over here already. */
export function noteProcess(note: ProcessNote, pid: number): void {
  Atomics.store(note, PROCESS, pid)
}

export function notedProcess(note: ProcessNote): number {
  return Atomics.load(note, PROCESS)
}

/** By the thread: a process that outlives a read, and is ended with the thread; 0 for none. */
export function noteResident(note: ProcessNote, pid: number): void {
  Atomics.store(note, RESIDENT, pid)
}

export function residentProcess(note: ProcessNote): number {
  return Atomics.load(note, RESIDENT)
}

/** By the thread: it has one process more (1) to see the end of, or one less (-1). */
export function countProcess(note: ProcessNote, by: 1 | -1): void {
  Atomics.add(note, STARTED, by)
}

/** A thread that ends before it has seen its processes end leaves them as zombies. */
export function hasProcesses(note: ProcessNote): boolean {
  return Atomics.load(note, STARTED) > 0
}

/** By the owner, before it ends the process: this read and all before it are over; by default all there will ever be. */
export function endReads(note: ProcessNote, read = EVERY_READ - 1): void {
  Atomics.store(note, OVER, Math.max(Atomics.load(note, OVER), read + 1))
}

export function isOver(note: ProcessNote, read: number): boolean {
  return Atomics.load(note, OVER) > read
}
