/**
 * @file Jobs on Kubernetes: the API, manifests, what happens to pods and what to do about it; one pod from inside.
 * Knows nothing of other clusters, nor of what runs in a pod.
 */
export { type ApplyOptions, applyJob, deleteJob } from './apply.ts'
export { type ConnectOptions, connectKube, type KubeClient, type KubeObject } from './client.ts'
export { examine, type Finding } from './doctor.ts'
export { KubeError } from './errors.ts'
export { type FollowOptions, followJob, type KubeJob, type KubeOutcome } from './follow.ts'
export { RESOURCES } from './paths.ts'
export { type PodContext, runAgent } from './pod/agent.ts'
export { startFluid } from './pod/start-fluid.ts'
export { writeTermination } from './pod/termination.ts'
export { makeQueue } from './queue.ts'
export type { LoadedFile } from './render/files.ts'
export { queueOf } from './render/names.ts'
export { type KubePlan, manifestText, planObjects, renderJob } from './render/render.ts'
export { statusOf } from './status.ts'
