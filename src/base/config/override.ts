/** @file `-o runner.epochs=2`: settings from the command line, laid over those of the yaml. */
import type { ConfigProblem } from './problem.ts'
import type { Path } from './walk.ts'
import { isReserved, parseYamlValue, YamlRefusal } from './yaml-text.ts'

export interface Override {
  /** As typed, without the -o. */
  readonly argument: string
  readonly path: readonly string[]
  readonly text: string
}

/** Splits at the first `=`, so that a value may contain one. */
export function parseOverrides(list: readonly string[]): { overrides: Override[]; problems: ConfigProblem[] } {
  const overrides: Override[] = []
  const problems: ConfigProblem[] = []
  for (const argument of list) {
    const at = argument.indexOf('=')
    const path = (at < 0 ? argument : argument.slice(0, at)).trim().split('.')
    const refused = refusal(argument, path, at)
    if (refused) problems.push(refused)
    else if (at > 0 && path.every((step) => step !== ''))
      overrides.push({ argument, path, text: argument.slice(at + 1) })
    else problems.push(malformed(argument))
  }
  return { overrides, problems }
}

/** A copy of `data` with the overrides set. A value is yaml, but text where `isText` or the replaced value says so. */
export function applyOverrides(
  data: unknown,
  overrides: readonly Override[],
  isText: (path: Path) => boolean,
): unknown {
  return overrides.reduce(
    (result, { path, text }) => setAt(result, path, { kind: isText(path) ? 'text' : 'yaml', text }),
    data,
  )
}

interface Written {
  readonly kind: 'text' | 'yaml'
  readonly text: string
}

const QUOTED = /^".*"$/s

function setAt(data: unknown, [step, ...rest]: readonly string[], written: Written): unknown {
  if (step === undefined) {
    const staysText = typeof data === 'string' && !QUOTED.test(written.text)
    return written.kind === 'text' || staysText ? written.text : parsedValue(written.text)
  }
  const record = isRecord(data) ? data : {}
  return { ...record, [step]: setAt(record[step], rest, written) }
}

function parsedValue(text: string): unknown {
  try {
    return text.trim() === '' ? text : parseYamlValue(text)
  } catch {
    return text // a value like `%x` or `@x`, which yaml would want quoted
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Values that are not even tried, and names that mean something else to JavaScript. */
function refusal(argument: string, path: readonly string[], at: number): ConfigProblem | undefined {
  const reserved = path.find(isReserved)
  const message = reserved === undefined ? whyNot(argument.slice(at + 1)) : `${reserved} cannot be the name of a key`
  if (message === undefined) return undefined
  const fix = { kind: 'override', from: argument, to: undefined } as const
  return {
    code: 'CONFIG_LIMIT',
    key: '',
    message,
    place: { kind: 'override', argument: shown(argument) },
    fix: { ...fix, from: shown(argument) },
  }
}

const shown = (argument: string) => (argument.length > 200 ? `${argument.slice(0, 200)}...` : argument)

function whyNot(value: string): string | undefined {
  try {
    parseYamlValue(value)
    return undefined
  } catch (error) {
    return error instanceof YamlRefusal ? error.message : undefined // other faults: the value is a text
  }
}

function malformed(argument: string): ConfigProblem {
  const colon = /^([\w.]+)\s*:\s*(.+)$/.exec(argument)
  const to = colon ? `${colon[1]}=${colon[2]}` : undefined
  return {
    code: 'CONFIG_OVERRIDE',
    key: '',
    message: 'expected key=value, such as runner.epochs=2',
    place: { kind: 'override', argument },
    fix: { kind: 'override', from: argument, to },
  }
}
