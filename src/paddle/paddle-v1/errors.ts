/** @file What goes wrong in a trainer_config.ts, its data provider or a job of trainers, in words. */
import { errorsOf, UserError } from '../../base/util/index.ts'
import type { OptionProblem } from './options.ts'

export function badOptions(program: string, problems: readonly OptionProblem[]): UserError {
  const all = `oarfish ${program} --help lists all options.`
  const lines = problems.map(({ message, hint = all }) => (hint === all ? message : `${message}\n  ${hint}`))
  return new UserError(lines.join('\n'), { code: 'TRAINER_OPTION', hint: all })
}

export const configError = errorsOf('TRAINER_CONFIG')
export const layerError = errorsOf('TRAINER_LAYER')
export const settingsError = errorsOf('TRAINER_SETTINGS')
export const providerError = errorsOf('TRAINER_PROVIDER')
export const setUpError = errorsOf('TRAINER_JOIN')

export function listError(file: string, message: string, hint: string, line?: number): UserError {
  return new UserError(message, { code: 'TRAINER_LIST', where: { file, line }, hint })
}

export function noInterface(name: string, known: readonly string[]): UserError {
  return new UserError(`--nics=${name}: this host has no network interface of that name with an address.`, {
    code: 'TRAINER_NIC',
    hint: `It has ${known.join(', ')}; leave --nics out to listen on all.`,
  })
}

/** `trainer 2`, `trainers 0, 2 and 3`. */
export function trainersText(ranks: readonly number[]): string {
  const [last, ...others] = ranks.toReversed()
  return others.length === 0 ? `trainer ${last}` : `trainers ${others.toReversed().join(', ')} and ${last}`
}
