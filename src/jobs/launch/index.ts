/**
 * @file The processes of a job on this host: layout from flags, ports, environment, supervision, what is shown; translated commands.
 * Knows nothing of what the processes do, nor of other hosts but their names and the master where they find each other.
 */
export { type Exit, startChild } from './child.ts'
export { type CollectiveLayout, collectiveLayout, overrideByEnv } from './collective-layout.ts'
export { type JobFile, readJobFile } from './job-file.ts'
export { askToJoin } from './join.ts'
export { commandOf, launch } from './launch.ts'
export { launchCollective } from './launch-collective.ts'
export {
  type FleetrunFlags,
  fleetrunLayout,
  isCollective,
  type LaunchPsFlags,
  type Layout,
  launchPsLayout,
  localLayout,
} from './layout.ts'
export { watchLifeline } from './lifeline.ts'
export { follow, lastLines } from './log-lines.ts'
export { FIRST_START, nextStart, type Starts } from './next-start.ts'
export { collectiveEnv, fleetrunEnv, type JobAddresses, launchPsEnv, type ProcessIdentity } from './process-env.ts'
export { FIRST, GO_ON, MAX_RESTART, type Restart, recovering, restartEnv, resumes } from './recover.ts'
export { plainSink, rowsSink } from './screen.ts'
export { checkSharedMemory } from './shared-memory-room.ts'
export { type BoundSocket, bindSocket, portFree } from './sockets.ts'
export { aborted, superviseJob } from './supervise.ts'
export { leftInLine, TOOLS, type Tool, translateLine, translateScript } from './translate.ts'
