/** @file The public face of launch/: starting the processes of a job on this host, and the table of translated commands. */
export { scriptMissing } from './errors.ts'
export { FLEETRUN_FLAGS, type Flag, type FleetrunFlags, LAUNCH_PS_FLAGS, type LaunchPsFlags } from './flags.ts'
export { type LaunchOptions, launch } from './launch.ts'
export { fleetrunLayout, type Layout, launchPsLayout, type Place } from './layout.ts'
export { watchLifeline } from './lifeline.ts'
export { plainSink, type RowStream, rowsSink, type ScreenSink } from './screen.ts'
export type { RunningJob } from './supervise.ts'
export { type Exists, isTool, TOOLS, type Tool, translateLine, translateScript } from './translate.ts'
