/** @file The public face of ssh/: jobs on hosts that are reached by ssh. */
export { type ClusterJobOptions, runClusterJob, type Workspace } from './cluster.ts'
export { type ClusterConf, loadClusterConf, parseClusterConf } from './conf.ts'
export { parseHost, type SshHost } from './host.ts'
export { type HostServiceOptions, serveHost } from './host-service.ts'
export type { OpenHostsOptions } from './open-hosts.ts'
export { type JobRecord, readRecord } from './record.ts'
export { type StopJobOptions, stopJob } from './stop-job.ts'
