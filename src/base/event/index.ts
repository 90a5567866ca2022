/**
 * @file Everything a person may want to watch, as one union, and the ways to print it.
 * Knows nothing of who emits.
 */

export type {
  EpochRecord,
  Event,
  EventOf,
  EventSink,
  Metrics,
  ProcessState,
  Trained,
} from './event.ts'
export { jsonlSink } from './jsonl.ts'
export { forgetNotes, noteForLauncher, notesOf, readNotes, sumOfNotes } from './launcher-notes.ts'
export type { CalibrationPart, Link, Norms, TableSize } from './measured.ts'
export { type PaceUnit, paceLine, paceOn } from './pace.ts'
export { paddleSink } from './paddle.ts'
export { type PsSeen, psLines, psStart, trainResultDict } from './paddle-ps.ts'
export { paddleTrainerSink } from './paddle-trainer.ts'
export { paddleV1Sink } from './paddle-v1.ts'
export { progressSink, type TerminalStream } from './progress.ts'
export { type ProgressStyle, progressLine } from './progress-text.ts'
export { clockText, countText, metricText, processText, rateText } from './text.ts'
export { remainingSeconds, type View } from './view.ts'
export { readView, removeView, withViewFile } from './view-file.ts'
