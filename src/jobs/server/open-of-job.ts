/** @file Files of a job, opened only within its folder, wherever links in it lead. */
import { closeSync, fstatSync, readSync, realpathSync } from 'node:fs'
import { openWithin } from '../../base/runs/index.ts'

/** Opened for reading; undefined where it is not there, or leads out of the job's folder. */
export function openOfJob(folder: string, path: string): { readonly fd: number; readonly bytes: number } | undefined {
  try {
    const fd = openWithin(realpathSync(folder), path)
    return { fd, bytes: fstatSync(fd).size }
  } catch {
    return undefined
  }
}

/** Whether it is there and the job's own. */
export function isThere(folder: string, path: string): boolean {
  const found = openOfJob(folder, path)
  if (found) closeSync(found.fd)
  return found !== undefined
}

const MOST_SAID = 64 << 10

/** The last lines of a text in it that are not empty. */
export function lastLinesOfJob(folder: string, path: string, count: number): readonly string[] {
  const found = openOfJob(folder, path)
  if (!found) return []
  try {
    const buffer = Buffer.alloc(Math.min(found.bytes, MOST_SAID))
    const bytes = readSync(found.fd, buffer, 0, buffer.length, found.bytes - buffer.length)
    const lines = buffer.toString('utf8', 0, bytes).split('\n')
    return lines.filter((line) => line.trim() !== '').slice(-count)
  } finally {
    closeSync(found.fd)
  }
}
