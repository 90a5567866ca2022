/** @file The public face of kube/: jobs on Kubernetes. */
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
export { KubeError } from './errors.ts'
export { RESOURCES, type Resource } from './paths.ts'
export { type StartFluidOptions, startFluid } from './pod/start-fluid.ts'
export { writeTermination } from './pod/termination.ts'
