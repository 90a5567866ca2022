/** @file The public face of kube/: jobs on Kubernetes. */
export { type ApplyOptions, applyJob, deleteJob } from './apply.ts'
export {
  type ConnectOptions,
  connectKube,
  type KubeClient,
  type KubeList,
  type KubeObject,
  type PodLogOptions,
  type Selection,
  type WatchEvent,
} from './client.ts'
export { type DoctorOptions, examine, type Finding } from './doctor.ts'
export { KubeError } from './errors.ts'
export { type FollowOptions, followJob, type KubeJob, type KubeOutcome } from './follow.ts'
export { RESOURCES, type Resource } from './paths.ts'
export { type AgentOptions, runAgent } from './pod/agent.ts'
export { type StartFluidOptions, startFluid } from './pod/start-fluid.ts'
export { writeTermination } from './pod/termination.ts'
export type { LoadedFile } from './render/files.ts'
export { type Rendered, type RenderOptions, renderJob } from './render/render.ts'
export { manifestText } from './render/yaml.ts'
export { statusOf } from './status.ts'
