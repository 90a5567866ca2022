/** @file The public face of fs/: one interface to files. */
export * from './any.ts'
export * from './file-system.ts'
export * from './gunzip.ts'
export * from './local.ts'
export * from './remote.ts'
export * from './write.ts'
