/** @file The public face of launch/: starting the processes of a job on this host, and the table of translated commands. */

export { type Child, type Exit, startChild } from './child.ts'
export { collectiveEnv } from './collective-env.ts'
export { overrideByEnv } from './collective-flags-env.ts'
export { type CollectiveFlags, type CollectiveLayout, collectiveLayout } from './collective-layout.ts'
export { follow } from './follow.ts'
export { type JobFile, readJobFile } from './job-file.ts'
export { commandOf, type LaunchOptions, launch } from './launch.ts'
export { type LaunchCollectiveOptions, launchCollective } from './launch-collective.ts'
export {
  type FleetrunFlags,
  fleetrunLayout,
  isCollective,
  type LaunchPsFlags,
  type Layout,
  launchPsLayout,
  localLayout,
  type Place,
} from './layout.ts'
export { watchLifeline } from './lifeline.ts'
export { reachableAddress } from './local-host.ts'
export { lastLines } from './log-lines.ts'
export { fleetrunEnv, type JobAddresses, launchPsEnv, type ProcessIdentity } from './process-env.ts'
export { plainSink, type RowStream, rowsSink, type ScreenSink } from './screen.ts'
export { type BoundSocket, bindSocket } from './sockets.ts'
export { type JobSpec, type RunningJob, superviseJob } from './supervise.ts'
export { type Exists, isTool, TOOLS, type Tool, translateLine, translateScript } from './translate.ts'
