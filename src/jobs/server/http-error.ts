/** @file What an answer says when it is not the one that was hoped for. */
export class HttpError extends Error {
  readonly status: number
  readonly hint: string

  constructor(status: number, message: string, hint: string) {
    super(message)
    this.status = status
    this.hint = hint
  }
}
