/** @file Errors that training outlives: there is room again later. */

/** The last is said of a checkpoint, also by another process. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'SNAPSHOT_DISK_FULL'])

/** Whether a disk or a quota was full, at whatever depth it is said. */
export function isFull(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  return FULL.has(code) || isFull(cause)
}
