/** @file Reads a command line of `oarfish trainer` or `oarfish pserver`; all that is wrong with it at once. Pure: knows no files. */
import { suggest } from '../../base/util/index.ts'
import {
  TRAINER_OPTIONS,
  type TrainerOption,
  type TrainerOptionName,
  type TrainerOptions,
  type TrainerProgram,
  type TypedTrainerOptions,
} from './option-table.ts'

export interface OptionProblem {
  /** As it was typed, with its dashes. */
  readonly option: string
  /** A whole sentence. */
  readonly message: string
  readonly hint?: string
}

export interface ParsedTrainerOptions {
  readonly typed: TypedTrainerOptions
  readonly problems: readonly OptionProblem[]
}

/** What is wrong with the options of a trainer (or, with `program`, of a server): nothing, or every problem. */
export function checkTrainerOptions(
  argv: readonly string[],
  program: TrainerProgram = 'trainer',
): readonly OptionProblem[] {
  return parseTrainerOptions(argv, program).problems
}

/** Both `--name=value` and `--name value`, one dash or two; of flags also `--name` and `--noname`; the last of several wins, as in the original. */
export function parseTrainerOptions(argv: readonly string[], program: TrainerProgram): ParsedTrainerOptions {
  const typed: Record<string, number | boolean | string> = {}
  const problems: OptionProblem[] = []
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!
    const { name, written } = /^--?(?<name>[A-Za-z]\w*)(?:=(?<written>[\s\S]*))?$/.exec(word)?.groups ?? {}
    const known = name === undefined ? undefined : find(name)
    if (name === undefined || !known) {
      problems.push(name === undefined ? strayWord(word) : unknownOption(name, program))
      // Its value would be reported as a problem of its own.
      if (name !== undefined && written === undefined && isValue(argv[at + 1])) at++
      continue
    }
    const option: TrainerOption = TRAINER_OPTIONS[known.name]
    const follows = option.type === 'flag' ? /^(?:0|1|true|false)$/i.test(argv[at + 1] ?? '') : isValue(argv[at + 1])
    const value = written ?? (known.negated ? '0' : follows ? argv[++at] : option.type === 'flag' ? '1' : undefined)
    if (!option.of.includes(program)) problems.push(otherProgram(known.name, program))
    const read = readValue(known.name, value)
    if (typeof read === 'object') problems.push(read)
    else typed[known.name] = read
  }
  const result = typed as TypedTrainerOptions
  return { typed: result, problems: [...problems, ...together(result)] }
}

/** Options of which nothing is wrong, with the original's defaults for the rest. */
export function fillTrainerOptions(typed: TypedTrainerOptions): TrainerOptions {
  const defaults = Object.entries(TRAINER_OPTIONS).map(([name, option]) => [name, option.default])
  return { ...Object.fromEntries(defaults), ...typed } as TrainerOptions
}

/** Whether a job is one process: said so, or no servers are named. */
export function isLocal({ local, pservers }: TypedTrainerOptions): boolean {
  return local ?? pservers === undefined
}

function find(name: string): { readonly name: TrainerOptionName; readonly negated: boolean } | undefined {
  if (name in TRAINER_OPTIONS) return { name: name as TrainerOptionName, negated: false }
  const positive = name.replace(/^no/, '')
  const isFlag = positive !== name && TRAINER_OPTIONS[positive as TrainerOptionName]?.type === 'flag'
  return isFlag ? { name: positive as TrainerOptionName, negated: true } : undefined
}

const isValue = (word: string | undefined) => word !== undefined && !/^--?[A-Za-z]/.test(word)

function readValue(name: TrainerOptionName, written: string | undefined): number | boolean | string | OptionProblem {
  const { type, min = 0, max = 0 }: TrainerOption = TRAINER_OPTIONS[name]
  const option = `--${name}`
  if (written === undefined) return { option, message: `${option} needs a value.`, hint: example(name) }
  if (type === 'text') return written
  if (type === 'flag') {
    const value = { '1': true, true: true, '0': false, false: false }[written.toLowerCase()]
    return value ?? { option, message: `${option}: expected 0 or 1, got "${written}".`, hint: example(name) }
  }
  const value = /^\d+$/.test(written) ? Number(written) : Number.NaN
  if (value >= min && value <= max) return value
  return {
    option,
    message: `${option}: expected a whole number from ${min} to ${max}, got "${written}".`,
    hint: example(name),
  }
}

const EXAMPLES: Readonly<Record<TrainerOption['type'], string>> = { whole: '2', flag: '0', text: 'VALUE' }

function example(name: TrainerOptionName): string {
  const { type, default: fallback, what }: TrainerOption = TRAINER_OPTIONS[name]
  const shown =
    type === 'flag' ? Number(fallback ?? 0) : fallback === undefined || fallback === '' ? EXAMPLES[type] : fallback
  return `--${name}=${shown} (${what})`
}

/** What no option alone can get wrong. */
function together(typed: TypedTrainerOptions): readonly OptionProblem[] {
  const options = fillTrainerOptions(typed)
  return CHECKS.flatMap((check) => check(options, typed) ?? [])
}

type Check = (options: TrainerOptions, typed: TypedTrainerOptions) => OptionProblem | undefined

const CHECKS: readonly Check[] = [
  ({ trainer_id, num_gradient_servers }) =>
    trainer_id < num_gradient_servers
      ? undefined
      : {
          option: '--trainer_id',
          message: `--trainer_id=${trainer_id}: a job of --num_gradient_servers=${num_gradient_servers} has the trainers 0 to ${num_gradient_servers - 1}.`,
          hint: `Count trainers from 0, or give --num_gradient_servers=${trainer_id + 1} to every process.`,
        },
  ({ port, ports_num, ports_num_for_sparse }) => {
    const last = port + ports_num + ports_num_for_sparse - 1
    if (last <= 65535) return undefined
    return {
      option: '--port',
      message: `--port=${port}: with --ports_num=${ports_num} and --ports_num_for_sparse=${ports_num_for_sparse} the last port would be ${last}.`,
      hint: `Give --port=${65535 - ports_num - ports_num_for_sparse + 1} or less.`,
    }
  },
  ({ job }) =>
    job === 'train' || job === 'test'
      ? undefined
      : {
          option: '--job',
          message: `--job: expected train or test, got "${job}".`,
          hint: 'Gradients are checked by the tests of Oarfish, times by its benchmarks.',
        },
  (_, { job, test_pass }) =>
    job === 'test' && test_pass === undefined
      ? { option: '--job', message: '--job=test needs the first pass to test.', hint: '--job=test --test_pass=0' }
      : undefined,
  ({ job }, typed) =>
    job === 'test' && !isLocal(typed)
      ? {
          option: '--job',
          message: '--job=test works in one process, and --pservers names servers.',
          hint: 'Leave out --pservers, --trainer_id and --num_gradient_servers; the saved passes are on node 0.',
        }
      : undefined,
  ({ start_pass, save_dir, trainer_id }) =>
    start_pass > 0 && save_dir === '' && trainer_id === 0
      ? {
          option: '--start_pass',
          message: `--start_pass=${start_pass} goes on from pass ${start_pass - 1}, and --save_dir does not say where that is.`,
          hint: `--start_pass=${start_pass} --save_dir=./output`,
        }
      : undefined,
  (_, { local, num_gradient_servers: trainers = 1 }) =>
    local && trainers > 1
      ? {
          option: '--local',
          message: `--local=1 is one trainer alone, and --num_gradient_servers=${trainers} means ${trainers}.`,
          hint: 'Give --local=0 and --pservers=HOST,HOST, or leave out --num_gradient_servers.',
        }
      : undefined,
  ({ pservers }, typed) => {
    if (typed.local === true || typed.pservers === undefined) return undefined
    const hosts = pservers.split(',').map((host) => host.trim())
    const twofold = hosts.find((host, at) => hosts.indexOf(host) !== at)
    const message = hosts.includes('')
      ? `--pservers="${pservers}": a host of the list is empty.`
      : twofold === undefined
        ? undefined
        : `--pservers: ${twofold} is named twice.`
    return message
      ? {
          option: '--pservers',
          message,
          hint: '--pservers=10.0.0.1,10.0.0.2, or with ports of their own: --pservers=10.0.0.1:7164,10.0.0.1:7264',
        }
      : undefined
  },
  (_, { config_args }) =>
    config_args === undefined || config_args === '' || config_args.split(',').every((pair) => /^\w+=/.test(pair))
      ? undefined
      : {
          option: '--config_args',
          message: `--config_args: expected name=value pairs, got "${config_args}".`,
          hint: '--config_args=is_predict=1,dim=256',
        },
]

function unknownOption(name: string, program: TrainerProgram): OptionProblem {
  const names = Object.entries(TRAINER_OPTIONS).filter(([, { of }]) => (of as readonly string[]).includes(program))
  const guess = suggest(
    name,
    names.map(([known]) => known),
  )
  const message = `There is no option --${name}${guess ? ` - did you mean --${guess}?` : '.'}`
  return { option: `--${name}`, message, hint: `oarfish ${program} --help lists all options.` }
}

function strayWord(word: string): OptionProblem {
  return { option: word, message: `"${word}" is not an option.`, hint: 'Options are written --name=value.' }
}

function otherProgram(name: TrainerOptionName, program: TrainerProgram): OptionProblem {
  const owner = TRAINER_OPTIONS[name].of[0]
  return { option: `--${name}`, message: `--${name} is an option of oarfish ${owner}, not of oarfish ${program}.` }
}
