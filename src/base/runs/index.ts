/**
 * @file Run folders: what a run was, what its processes said and measured, written while it runs and read afterwards.
 * Knows nothing of who trains, nor of who looks.
 */
export { CURVE_COLUMNS, type CurveRow, type Curves, CurveWriter, type OutlinedLine, readCurves } from './curve-file.ts'
export { EventWriter, type ReadEvents, readEvents, type TimedEvent } from './event-file.ts'
export { findRuns } from './find-runs.ts'
export {
  FOLLOWERS_FOLDER,
  type FollowerNote,
  type FollowerStatus,
  openFollowerNote,
  readFollowers,
  type TakenVersion,
} from './follower-file.ts'
export { readGitCommit } from './git-commit.ts'
export { noteImportance, readImportance, type SlotsImportance } from './importance-file.ts'
export { noteOf, noteRun, removeRunNote, runOfLog } from './log-note.ts'
export { type LogOf, LogRun } from './log-run.ts'
export { openCurves } from './long-curves.ts'
export { serveMetrics } from './metrics-port.ts'
export { openWithin, type ReadFile, readPlain, readWithin } from './read-plain.ts'
export { openRecorder, type Recorder, type RecordOptions, recordRun } from './recorder.ts'
export { isRunName, namedRun, type RunIdentity, runIdentity, runName } from './run-name.ts'
export {
  ACTIVE_STATES,
  type ProcessStatus,
  processName,
  RUN_VERSION,
  type RunMeta,
  type RunRole,
  type RunState,
  runPaths,
} from './run-paths.ts'
export { type RunSummary, readRun, readTags, type SeenProcess, stateOf, writeTags } from './run-summary.ts'
export { readJson } from './status-file.ts'
export { readSweep, type SweepPlan, type SweepRung, sweepFile, sweepFolderOf, sweepName } from './sweep-file.ts'
export { addressOf } from './watchers.ts'
