/**
 * @file The job server: accounts, journal, queue and HTTP, the supervisor of a job, and the client that asks it.
 * Knows executors by their interface only, and nothing of training.
 */
export { accountsReader, addGroup, addUser, type Group, rotateKeys, type User } from './accounts.ts'
export type { Limits } from './admission.ts'
export { type CloudClient, cloudClient, type JobList, type JobSummary, type Submission } from './client.ts'
export { createDispatcher } from './dispatch.ts'
export { JOB_PREFIXES, JOB_VARIABLES, jobEnv } from './job-env.ts'
export { type JobMetricsOptions, openJobMetrics } from './job-metrics.ts'
export { isWanted, type JobFilter } from './listing.ts'
export { openNonces } from './nonces.ts'
export { accountsFile, type OpenServerOptions, openJobServer } from './open.ts'
export { openApi } from './openapi.ts'
export { createJobServer } from './server.ts'
export type { Keys } from './sign.ts'
export { type CloudJob, openStore } from './store.ts'
export { superviseCloudJob } from './supervise.ts'
