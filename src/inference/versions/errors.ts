/** @file What can be wrong with published versions. */
import { UserError } from '../../base/util/index.ts'

export function damagedDelta(file: string, reason: string): UserError {
  return new UserError(`this file of a published version cannot be used: ${reason}`, {
    code: 'VERSION_DAMAGED',
    where: { file },
    hint: 'oarfish model verify FOLDER names what else is wrong; the next base does not need this file',
  })
}

export function notPublished(folder: string): UserError {
  return new UserError('nothing was published here: there is no versions.jsonl', {
    code: 'VERSIONS_MISSING',
    where: { file: folder },
    hint: 'name the runner.model_save_path of online training whose delta_format is oarfish or both',
  })
}

export function noSuchVersion(wanted: string, known: readonly string[]): UserError {
  return new UserError(`there is no version ${wanted}`, {
    code: 'VERSION_UNKNOWN',
    hint:
      known.length === 0
        ? 'none was published yet'
        : `the newest are ${known.slice(-5).join(', ')}; oarfish model log lists all`,
  })
}

/** Deltas that do not follow each other cannot be applied. */
export function brokenChain(version: string, reason: string): UserError {
  return new UserError(`version ${version} cannot be built: ${reason}`, {
    code: 'VERSION_GAP',
    hint: 'oarfish model verify FOLDER names what is missing; the next base makes the versions after it whole again',
  })
}
