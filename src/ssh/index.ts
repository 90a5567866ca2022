/** @file The public face of ssh/: jobs on hosts that are reached by ssh. */
export { type ClusterConf, loadClusterConf, parseClusterConf } from './conf.ts'
export { parseHost, type SshHost } from './host.ts'
