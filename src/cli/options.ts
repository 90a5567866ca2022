/** @file Options that several commands share, with PaddleRec's names, and how typed values are checked. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { suggest, UserError } from '../base/util/index.ts'

export interface ConfigOptions {
  readonly config_yaml: string
  readonly opt?: readonly string[]
}

export function addConfigOptions(command: Command): Command {
  return command
    .requiredOption(
      '-m, --config_yaml <file>',
      "the model's config.yaml, or paddlerec.models.rank.dnn for one that ships with oarfish",
    )
    .option('-o, --opt <key=value...>', 'change keys of the configuration, for example runner.epochs=2')
}

export const modeOption = () =>
  new Option(
    '--mode <name>',
    'static (one graph) or dygraph (a graph a batch), of model.ts or of the file for the mode',
  ).default('static')

export const debugNanOption = () =>
  new Option(
    '--debug-nan',
    'look at every value of every step; one that is no number names the op that made it, and its line',
  )

export const engineOption = () =>
  new Option(
    '--engine <name>',
    'what computes: ort, reference (slow and exact) or null (nothing: times the input)',
  ).default('ort')

export const deviceOption = () =>
  new Option(
    '--device <name>',
    'what computes: cpu, webgpu or cuda, which must be there, or gpu: the best of this host, else the CPU',
  ).default('cpu')

/** Parses a whole number that is not negative. */
export function wholeNumber(typed: string): number {
  const value = Number(typed)
  if (typed.trim() === '' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('Expected a whole number.')
  return value
}

/** Parses a whole number above 0. */
export function countNumber(typed: string): number {
  const value = wholeNumber(typed)
  if (value === 0) throw new InvalidArgumentError('Expected 1 or more.')
  return value
}

/** The member of `names` that was typed. Checked when the command runs, so that lists may come from folders loaded then. */
export function oneOf<Name extends string>(option: string, names: readonly Name[], typed: string): Name {
  const found = names.find((name) => name === typed)
  if (found) return found
  const guess = suggest(typed, names)
  const question = guess ? ` - did you mean "${guess}"?` : ''
  throw new UserError(`${option}: expected ${names.join(' | ')}, got "${typed}"${question}`, { code: 'CLI_OPTION' })
}
