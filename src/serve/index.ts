/** @file The public face of serve/. */
export { type Served, type ServeOptions, serve } from './serve.ts'
