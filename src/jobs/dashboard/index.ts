/**
 * @file The dashboard: runs as a page over HTTP, from their folders alone.
 * Knows nothing of jobs nor of training: what it shows was written down by others.
 */
export type * from './api.ts'
export { LiveFeed } from './live.ts'
export { logQuery, readLogFile } from './logs.ts'
export { type Page, readPage } from './page-file.ts'
export { openRunApi, type RunApi } from './run-api.ts'
export { SAFE_HEADERS, sendJson, sendPage } from './send.ts'
export { type Dashboard, type DashboardOptions, openDashboard } from './server.ts'
