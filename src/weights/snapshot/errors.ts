/** @file What can be wrong with checkpoints, in words. Each code has a section in docs/reference/errors.md. */
import { sizeText, UserError } from '../../base/util/index.ts'

export function damaged(file: string, reason: string): UserError {
  return new UserError(`this file of a checkpoint cannot be used: ${reason}`, {
    code: 'SNAPSHOT_DAMAGED',
    where: { file },
    hint: 'copy the checkpoint again from where it came, or use another one (runner.last_epoch, runner.model_init_path)',
  })
}

export function foreign(file: string, reason: string): UserError {
  return new UserError(`this is not a checkpoint that can be read: ${reason}`, {
    code: 'SNAPSHOT_FOREIGN',
    where: { file },
    hint: 'name a folder that `oarfish train` saved, such as model_output/2',
  })
}

export function missing(folder: string, key: string, saved: readonly number[]): UserError {
  const epochs = saved.length === 0 ? 'there are no saved epochs beside it' : `saved epochs: ${saved.join(', ')}`
  return new UserError(`${key}: there is no checkpoint in ${folder}; ${epochs}`, {
    code: 'SNAPSHOT_MISSING',
    hint: 'paths of checkpoints are relative to the working folder; name one that holds a manifest.json',
  })
}

export function mismatch(folder: string, differences: readonly string[]): UserError {
  return new UserError(`the checkpoint is of another model:\n${differences.map((text) => `  ${text}`).join('\n')}`, {
    code: 'SNAPSHOT_MISMATCH',
    where: { file: folder },
    hint: 'train and load with the same hyper_parameters, or start anew without this checkpoint',
  })
}

export function inputChanged(folder: string): UserError {
  return new UserError(
    'the training data is not what it was when this checkpoint was saved inside an epoch, so its place in the data is lost',
    {
      code: 'SNAPSHOT_INPUT_CHANGED',
      where: { file: folder },
      hint: 'put the same files back into runner.train_data_dir, or resume after a whole epoch with -o runner.last_epoch=N',
    },
  )
}

export function otherRun(folder: string, differences: readonly string[]): UserError {
  const lines = differences.map((text) => `  ${text}`).join('\n')
  return new UserError(`this cut was made inside an epoch by a run that differs from this one:\n${lines}`, {
    code: 'SNAPSHOT_OTHER_RUN',
    where: { file: folder },
    hint: 'go back to what it was made with, or go on after a whole epoch with -o runner.last_epoch=N instead of --resume',
  })
}

export function cannotWrite(cause: NodeJS.ErrnoException, folder: string): UserError {
  return new UserError(`runner.model_save_path: cannot write ${folder}: ${cause.message}`, {
    code: 'SNAPSHOT_WRITE',
    hint: 'name a folder that can be written, or save nothing with -o runner.model_save_path=',
    cause,
  })
}

export interface DiskFullDetails {
  /** Unknown to a process that writes a part. */
  readonly needed?: number | undefined
  readonly free?: number | undefined
  /** Whether an earlier checkpoint of the same name is still there. */
  readonly kept: boolean
}

export function diskFull(cause: unknown, folder: string, { needed, free, kept }: DiskFullDetails): UserError {
  const size = needed === undefined ? '' : ` needs ${sizeText(needed)}`
  const room = free === undefined ? '' : `, ${sizeText(free)} are free`
  const still = kept ? 'the checkpoint that was there is kept' : 'earlier checkpoints are kept'
  return new UserError(`the disk is full: ${folder}${size}${room}; ${still}`, {
    code: 'SNAPSHOT_DISK_FULL',
    hint: 'make room or keep fewer checkpoints (runner.keep_checkpoints), then go on with --resume',
    cause,
  })
}

export function notACheckpoint(folder: string): UserError {
  return new UserError(`${folder} holds something other than a checkpoint, which would be lost`, {
    code: 'SNAPSHOT_REPLACE',
    hint: 'save into a folder that is not there yet, is empty, or holds an earlier checkpoint; or move what is there elsewhere',
  })
}
