/** @file One request to the page of a job server, and what all of them share. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LiveFeed, SAFE_HEADERS } from '../dashboard/index.ts'
import type { ServerOptions } from './access.ts'
import type { Accounts } from './accounts.ts'
import type { JobRuns } from './job-runs.ts'
import type { Session, Sessions } from './sessions.ts'

/** What one request to the page is made of. */
export interface PageCall {
  readonly session: Session
  readonly user: string
  readonly accounts: Accounts
  readonly body: Readonly<Record<string, unknown>>
  readonly query: URLSearchParams
  /** Behind `/page/`. */
  readonly path: readonly string[]
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly state: PageState
}

export interface PageState {
  readonly options: ServerOptions
  readonly sessions: Sessions
  readonly live: LiveFeed
  readonly runs: JobRuns
  readonly setCookie: (response: ServerResponse, id: string) => void
}

/** A file of a user's, which a browser must save and never show. */
export const DOWNLOAD_HEADERS = {
  ...SAFE_HEADERS,
  'content-type': 'application/octet-stream',
  'content-disposition': 'attachment',
  'content-security-policy': "default-src 'none'; sandbox",
}
