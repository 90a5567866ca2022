/** @file `-o runner.epochs=2`: settings from the command line, laid over those of the yaml. */
import { parse } from 'yaml'
import type { ConfigProblem } from './problem.ts'
import type { Path } from './walk.ts'

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
    if (at > 0 && path.every((step) => step !== '')) overrides.push({ argument, path, text: argument.slice(at + 1) })
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
    (result, { path, text }) => setAt(result, path, isText(path) ? { text } : { yaml: text }),
    data,
  )
}

type Written = { readonly text: string } | { readonly yaml: string }

function setAt(data: unknown, [step, ...rest]: readonly string[], written: Written): unknown {
  if (step === undefined)
    return 'text' in written ? written.text : typeof data === 'string' ? written.yaml : parsedValue(written.yaml)
  const record = isRecord(data) ? data : {}
  return { ...record, [step]: setAt(record[step], rest, written) }
}

function parsedValue(text: string): unknown {
  try {
    return text.trim() === '' ? text : parse(text)
  } catch {
    return text // a value like `%x` or `@x`, which yaml would want quoted
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
