/** @file The public face of submit/: jobs and where they run. */
export * from './job.ts'
