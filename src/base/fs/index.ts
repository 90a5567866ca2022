/**
 * @file Files as one interface: local, gzip, HDFS, S3.
 * Knows nothing of what is in them.
 */
export * from './any.ts'
export * from './file-system.ts'
export * from './folder-lock.ts'
export * from './gunzip.ts'
export { carriedUgi } from './hdfs.ts'
export * from './local.ts'
export * from './own-folder.ts'
export * from './remote.ts'
export * from './small-text.ts'
export * from './write.ts'
