/** @file The public face of event/: the union, and the ways to print it. */
export * from './event.ts'
export { jsonlSink } from './jsonl.ts'
export { type PaddleSinkOptions, paddleSink } from './paddle.ts'
export { type PaddleV1Streams, paddleV1Sink } from './paddle-v1.ts'
export { processText } from './process-text.ts'
export { type ProgressSink, progressSink, type TerminalStream } from './progress.ts'
export type { ProgressStyle } from './progress-text.ts'
export { EMPTY_VIEW, foldView, remainingSeconds, type View } from './view.ts'
