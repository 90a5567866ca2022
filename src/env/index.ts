/** @file The public face of env/: who a process is, and where the others are, from its environment. */
export {
  type Cluster,
  clusterFromEnv,
  jobSecrets,
  LOCAL_CLUSTER,
  type NamedCluster,
  namedCluster,
  processEnv,
  ROLES,
  type Role,
} from './cluster.ts'
export { CLUSTER_ENV, type Env, required } from './cluster-env.ts'
export { type CollectiveJob, collectiveFromEnv } from './collective-env.ts'
export { type Endpoint, parseEndpoint, parseEndpoints, splitList } from './endpoint.ts'
export { PS_FLAGS, type PsFlag, psFlags } from './ps-flags.ts'
export { type UserDefinedRoleOptions, userDefinedCluster } from './user-defined-role.ts'
