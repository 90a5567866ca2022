/** @file The two kinds of failure: a UserError (printed without a stack, exit 2) and a bug (any other Error). */

/** Where in a user's file a problem stands; lines and columns count from 1. */
export interface Where {
  readonly file: string
  readonly line?: number | undefined
  readonly column?: number | undefined
}

export interface UserErrorOptions {
  /** A stable code with a section in docs/reference/errors.md. */
  readonly code: string
  readonly where?: Where | undefined
  /** What to do about it, as a sentence or as code. */
  readonly hint?: string | undefined
  readonly cause?: unknown
}

/** A failure the user can mend. */
export class UserError extends Error {
  readonly code: string
  readonly where: Where | undefined
  readonly hint: string | undefined

  constructor(message: string, { code, where, hint, cause }: UserErrorOptions) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'UserError'
    this.code = code
    this.where = where
    this.hint = hint
  }
}

/** Errors of one code: `const configError = errorsOf('TRAINER_CONFIG')`. */
export function errorsOf(code: string): (message: string, hint: string, cause?: unknown) => UserError {
  return (message, hint, cause) => new UserError(message, { code, hint, cause })
}

/** True also for a UserError that came from another thread or module instance, where `instanceof` does not hold. */
export function isUserError(error: unknown): error is UserError {
  return error instanceof Error && error.name === 'UserError' && typeof (error as UserError).code === 'string'
}

/** `file:line:column`, as editors and terminals make it clickable. */
export function formatWhere({ file, line, column }: Where): string {
  return [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(':')
}

/** What a person reads: place, message, then the fix on a line of its own. */
export function formatUserError(error: UserError): string {
  const place = error.where ? `${formatWhere(error.where)} ` : ''
  return `${place}${error.message}${error.hint ? `\n  ${error.hint.replaceAll('\n', '\n  ')}` : ''}`
}

/** An error as plain data, so that it survives postMessage whole (structured clone drops class and extra fields). */
export interface PlainError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly user?: { readonly code: string; readonly where?: Where | undefined; readonly hint?: string | undefined }
}

export function toPlainError(error: unknown): PlainError {
  if (isUserError(error)) {
    const { code, where, hint } = error
    return { name: error.name, message: error.message, user: { code, where, hint } }
  }
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  return { name: error.name, message: error.message, stack: error.stack }
}

export function fromPlainError(plain: PlainError): Error {
  if (plain.user) return new UserError(plain.message, plain.user)
  const error = new Error(plain.message)
  error.name = plain.name
  if (plain.stack !== undefined) error.stack = plain.stack
  return error
}
