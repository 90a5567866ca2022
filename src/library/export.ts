/** @file exportModel(): a saved epoch as a folder that this and other programs score with. */

import type { ExportManifest } from '../inference/export/index.ts'
import { type ConfigOptions, configOf } from './config.ts'
import type { WatchOptions } from './event-feed.ts'
import { type Run, startRun } from './run.ts'

/** Options of exportModel. */
export interface ExportOptions extends ConfigOptions, WatchOptions {
  /** The folder to write; an export that is there is replaced once all is written. */
  readonly out: string
  /** Which epoch of runner.model_save_path. @default the best of training with keep_best or early_stop, else the last that was saved */
  readonly epoch?: number | undefined
  /** Also writes folded.onnx, which holds the tables and takes ids as they are; for small tables. @default false */
  readonly fold?: boolean | undefined
}

/** What exportModel wrote. */
export interface ExportResult {
  /** The folder that was written: what openPredictor() and serve() take. */
  readonly folder: string
  /** Slots, tables, inputs and outputs, as manifest.json has them. */
  readonly manifest: ExportManifest
  /** Of all its files. */
  readonly bytes: number
}

/**
 * Writes a saved epoch for inference: ONNX, tables, samples with their scores, and model.d.ts, the types of its samples and outputs.
 * Aborted, it throws the signal's reason and leaves the folder as it was.
 *
 * @example
 * const { folder } = await exportModel({ config: 'config.yaml', out: 'exported' })
 */
export function exportModel(options: ExportOptions): Run<ExportResult> {
  return startRun(options, async ({ emit, signal }) => {
    const { out, epoch, fold } = options
    const { exportCheckpoint } = await import('../training/driver/index.ts')
    const manifest = await exportCheckpoint({ config: configOf(options), out, epoch, fold, emit, signal })
    const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0)
    return { folder: out, manifest, bytes }
  })
}
