/**
 * @file Jobs on hosts that are reached by ssh: conf.py, the channel to a host, its files, its processes and their end.
 * Knows nothing of job servers, queues or Kubernetes, nor of what the processes train.
 */
export { sshWords } from './channel.ts'
export { type ClusterJobOptions, runClusterJob } from './cluster.ts'
export { loadClusterConf, parseClusterConf } from './conf.ts'
export { noSuchJob, together } from './errors.ts'
export { type FleetJobOptions, runFleetJob } from './fleet-job.ts'
export { parseHost, parseHosts, type SshHost } from './host.ts'
export { serveHost } from './host-service.ts'
export { jobLogs } from './job-logs.ts'
export { type Hosts, openHosts } from './open-hosts.ts'
export { findRecord, type JobRecord, listRecords, readRecord, startOf, stopJob } from './record.ts'
export type { RemoteHost } from './remote-host.ts'
export type { HostsJobOptions, Workspace } from './run-on-hosts.ts'
