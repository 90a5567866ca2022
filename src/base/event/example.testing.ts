/** @file A short run as events, for the printers' tests. */
import type { Event, EventOf } from './event.ts'

export const START: EventOf<'start'> = {
  kind: 'start',
  command: 'train',
  model: 'models/rank/dnn',
  settings: {
    'runner.train_data_dir': 'data/train',
    'runner.train_batch_size': 512,
    'runner.thread_num': 2,
    'runner.epochs': 2,
    'runner.print_interval': 10,
    'runner.model_save_path': 'model_output',
    'runner.use_gpu': false,
  },
}

export function batch(fields: Partial<EventOf<'batch'>> = {}): EventOf<'batch'> {
  return {
    kind: 'batch',
    phase: 'train',
    epoch: 0,
    batch: 350,
    samples: 179_712,
    fraction: 0.45,
    metrics: { loss: 0.51234567, auc: 0.712345 },
    readerSecondsPerBatch: 0.00012,
    secondsPerBatch: 0.00667,
    samplesPerBatch: 512,
    samplesPerSecond: 76_761.6,
    ...fields,
  }
}

export function epoch(fields: Partial<EventOf<'epoch'>> = {}): EventOf<'epoch'> {
  const metrics = { loss: 0.5, auc: 0.7234567 }
  return {
    kind: 'epoch',
    phase: 'train',
    epoch: 0,
    samples: 400_000,
    seconds: 5.2,
    samplesPerSecond: 76_923,
    metrics,
    ...fields,
  }
}

export const DONE: EventOf<'done'> = {
  kind: 'done',
  samples: 800_000,
  seconds: 10.4,
  samplesPerSecond: 76_923,
  metrics: { loss: 0.49, auc: 0.73 },
  evaluation: { loss: 0.5012, auc: 0.7198 },
}

export const RUN: readonly Event[] = [
  START,
  { kind: 'ready', startupSeconds: 0.8 },
  { kind: 'warning', message: 'data/train/part-0: slot "u_x" is not in the configuration and is left out.' },
  { kind: 'epochStart', epoch: 0, files: 8, bytes: 1_000_000 },
  batch(),
  epoch(),
  batch({ phase: 'infer', batch: 20, fraction: 0.5 }),
  epoch({ phase: 'infer', samples: 40_000, seconds: 0.3, samplesPerSecond: 133_333 }),
  { kind: 'progress', what: 'save', table: 'embedding', rows: 4_500_000, ofRows: 10_000_000 },
  { kind: 'saved', path: 'model_output/0', epoch: 0 },
  { kind: 'loaded', path: 'model_output/0', epoch: 0 },
  { kind: 'interrupted', epoch: 1, batch: 12, samples: 6_144, path: 'model_output/interrupted' },
  { kind: 'error', code: 'DATA_LINE', message: 'Expected a number.', where: 'part-0:7', hint: 'Remove the line.' },
  DONE,
]
