/** @file What can be wrong with exports, in words. Each code has a section in docs/reference/errors.md. */
import { editDistance, UserError } from '../../base/util/index.ts'

const NEAREST = 3

/** A name in save_inference_feed_varnames or ..._fetch_varnames that the model does not have. */
export function unknownName(key: string, what: 'input' | 'output', name: string, known: readonly string[]): UserError {
  const nearest = [...known].sort((a, b) => editDistance(name, a) - editDistance(name, b)).slice(0, NEAREST)
  const more = known.length > nearest.length ? `; it has ${known.length} ${what}s` : ''
  return new UserError(
    `${key}: the model has no ${what} "${name}"; the nearest names are ${nearest.join(', ') || '(none)'}${more}`,
    {
      code: what === 'input' ? 'EXPORT_FEED' : 'EXPORT_FETCH',
      hint: `name ${what}s as the model declares them, or leave ${key} empty for ${what === 'input' ? 'all that the outputs need' : 'all of them'}`,
    },
  )
}

export function feedsMissing(key: string, outputs: readonly string[], missing: readonly string[]): UserError {
  return new UserError(`${key}: the output ${outputs.join(', ')} also needs ${missing.join(', ')}`, {
    code: 'EXPORT_FEED',
    hint: `add ${missing.join(', ')} to ${key}, or leave it empty`,
  })
}

export function noOutputs(): UserError {
  return new UserError('the model has no output to export: net() returns no outputs with a row per sample', {
    code: 'EXPORT_FETCH',
    hint: 'return { loss, outputs: { predict } } from net(), where predict is [B, ...]',
  })
}

export function randomOutputs(): UserError {
  return new UserError('the outputs depend on random numbers, so no reader could repeat them', {
    code: 'EXPORT_RANDOM',
    hint: 'leave dropout and sampling out of net(inputs, isInfer) when isInfer is true',
  })
}

/** Of a file to predict or to find items for. */
export function noInput(file: string): UserError {
  return new UserError('there is no such file or folder', {
    code: 'DATA_FILE',
    where: { file },
    hint: 'name a file of text, plain or .gz, a folder of such, or - for standard input',
  })
}

export function notAnExport(file: string, reason: string): UserError {
  return new UserError(`this is not an export that can be read: ${reason}`, {
    code: 'EXPORT_FOREIGN',
    where: { file },
    hint: 'name a folder written by `oarfish export -m config.yaml --out DIR`, or one that holds such folders by epoch',
  })
}

export function damagedExport(file: string, reason: string): UserError {
  return new UserError(`this file of an export cannot be used: ${reason}`, {
    code: 'EXPORT_DAMAGED',
    where: { file },
    hint: 'copy the export again from where it came, or write it again with `oarfish export`',
  })
}

export function notFound(folder: string): UserError {
  return new UserError(`there is no export in ${folder}: neither manifest.json nor <epoch>/manifest.json`, {
    code: 'EXPORT_MISSING',
    hint: 'write one with `oarfish export -m config.yaml --out DIR`, or train with runner.use_inference: True',
  })
}

export function wrongSamples(output: string, expected: number, found: number): UserError {
  return new UserError(
    `the export does not score as the trainer does: ${output} is ${found} where the trainer has ${expected}`,
    {
      code: 'EXPORT_CHECK',
      hint: 'the model may use random numbers or the samples around it; see whether net(inputs, isInfer) does so for isInfer',
    },
  )
}

export function tooLargeToFold(bytes: number, limit: number): UserError {
  const megabytes = (value: number) => `${Math.ceil(value / 1024 ** 2).toLocaleString('en-US')} MiB`
  return new UserError(
    `--fold: the tables have ${megabytes(bytes)}, more than the ${megabytes(limit)} of a folded file`,
    {
      code: 'EXPORT_FOLD',
      hint: 'leave out --fold: model.onnx with the table files beside it has no such limit',
    },
  )
}

export function cannotWriteExport(folder: string, cause: NodeJS.ErrnoException): UserError {
  return new UserError(`the export cannot be written to ${folder}: ${cause.message}`, {
    code: 'EXPORT_WRITE',
    hint: 'name a folder that can be written, on a disk with room',
    cause,
  })
}

export function notReplaced(folder: string): UserError {
  return new UserError(`${folder} holds something other than an export, which would be lost`, {
    code: 'EXPORT_WRITE',
    hint: 'name a folder that is not there yet, is empty, or holds an earlier export',
  })
}
