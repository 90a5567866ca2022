/** @file The public face of fleet/. */
export type {
  Distributable,
  FleetProgram,
  FleetRegistry,
  FleetRuntime,
  FleetWorker,
  TrainingProgram,
} from './training-program.ts'
