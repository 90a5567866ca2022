/** @file User code, run under its own name: what it throws is its own to mend. */
import { relative } from 'node:path'
import { isUserError, UserError } from './errors.ts'

/** Runs code of the user's `file`; what it throws becomes a UserError that shows the user's own stack. */
export async function blamed<T>(file: string, what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (isUserError(error)) throw error
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    throw new UserError(`${shown(file)} ${what}:\n${stack}`, { code: 'MODEL_FAILED', cause: error })
  }
}

/** A path as a user would type it here. */
export function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short || '.'
}
