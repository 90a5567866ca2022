/**
 * @file Scores over HTTP: requests put into batches, threads that score, reload of newer exports.
 * Knows exports only: nothing of training, models or parameter servers.
 */

export { createRequestParser } from './request.ts'
export { type Served, type ServeOptions, type ServingOptions, serve } from './serve.ts'
