/** @file The public face of event/. */
export * from './event.ts'
