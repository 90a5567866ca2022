/**
 * @file Which process of a job this one is and where the others are, read from Paddle's variables, and flags of servers.
 * Knows nothing of sockets or processes: it reads text.
 */
export {
  type Cluster,
  clusterFromEnv,
  jobSecrets,
  namedCluster,
  type ProcessRole,
  processEnv,
  refuseTelemetry,
} from './cluster.ts'
export { CLUSTER_ENV, type Env, jobUid, required, startedAgain, startTimeoutOf } from './cluster-env.ts'
export { collectiveFromEnv, isElastic } from './collective-env.ts'
export { parseEndpoint, parseEndpoints, splitList } from './endpoint.ts'
export { psFlags, silenceSetting } from './ps-flags.ts'
export { derivedTokenWarning, jobHosts, jobToken, TOKEN_WARNED, tlsSetting, tokenWarning } from './secrets.ts'
export { selectedGpus } from './selected-gpus.ts'
export { userDefinedCluster } from './user-defined-role.ts'
