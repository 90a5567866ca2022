/** @file Turns what zod found into problems with place, guess and fix. */
import type { z } from 'zod'
import { suggest } from '../util/index.ts'
import { describeSchema, describeValue } from './describe.ts'
import { insertKey, moveKey, removeKey, renameKey, replaceValue, yamlValue } from './edit.ts'
import type { Fix } from './fix.ts'
import type { Override } from './override.ts'
import type { ConfigProblem } from './problem.ts'
import { repair } from './repair.ts'
import { type ConfigSource, keySpan, overrideAt, valueSpan } from './source.ts'
import { defaultOf, keysOf, metaOf, type Path, schemaAt } from './walk.ts'

export interface IssueContext {
  readonly source: ConfigSource
  readonly schema: z.ZodType
  /** The data the schema saw. */
  readonly data: unknown
  /** Where the schema's root stands in the yaml: [] or ['hyper_parameters']. */
  readonly base: Path
  /** Where a key belongs that is often put in the wrong group or called by another name. */
  readonly elsewhere?: (path: Path) => Path | undefined
}

/** Every problem in the issues of one failed parse. */
export function problemsOf(issues: readonly z.core.$ZodIssue[], context: IssueContext): ConfigProblem[] {
  return issues.flatMap((issue) => {
    const path = issue.path as Path
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], context))
    const missing = valueAt(context.data, path) === undefined
    return [missing ? missingKey(path, context) : wrongValue(path, issue, context)]
  })
}

function unknownKey(path: Path, context: IssueContext): ConfigProblem {
  const { source, base, schema } = context
  const full = [...base, ...path]
  const target = context.elsewhere?.(path) ?? siblingGuess(path, schema, base)
  const moved = target !== undefined && !samePath(target.slice(0, -1), full.slice(0, -1))
  const override = overrideAt(source, full)
  const guess = target && (moved || override ? target.join('.') : String(target.at(-1)))
  const edit = () => {
    if (!target) return removeKey(source, full)
    return moved ? moveKey(source, full, target.slice(0, -1), String(target.at(-1))) : renameKey(source, full, guess!)
  }
  return {
    code: 'CONFIG_UNKNOWN_KEY',
    key: full.join('.'),
    message:
      full[0] === 'runner' && !target
        ? 'unknown key; keys of your own reader or model go under runner.custom'
        : 'unknown key',
    guess,
    place: placeOf(source, full, override, 'key'),
    fix: override
      ? rewrite(override, target && { ...override, path: target.map(String) })
      : { kind: 'edit', edits: edit() },
  }
}

/** A key of the same group that looks alike. */
function siblingGuess(path: Path, schema: z.ZodType, base: Path): Path | undefined {
  const parent = path.slice(0, -1)
  const near = suggest(String(path.at(-1)), keysOf(schemaAt(schema, parent)))
  return near === undefined ? undefined : [...base, ...parent, near]
}

function missingKey(path: Path, { source, schema, base }: IssueContext): ConfigProblem {
  const full = [...base, ...path]
  const at = schemaAt(schema, path)
  const { description, example } = at ? metaOf(at) : {}
  const value = example ?? (at && (defaultOf(at) ?? repair(at, undefined).value)) ?? firstLegal(at)
  const override = overrideAt(source, full)
  return {
    code: 'CONFIG_MISSING_KEY',
    key: full.join('.'),
    message: `missing${at ? `, expected ${describeSchema(at)}` : ''}${description ? ` (${asAside(description)})` : ''}`,
    place: placeOf(source, full, override, 'key'),
    fix: override
      ? rewrite(override, undefined)
      : { kind: 'edit', edits: insertKey(source, full.slice(0, -1), String(full.at(-1)), value) },
  }
}

function wrongValue(path: Path, issue: z.core.$ZodIssue, { source, schema, data, base }: IssueContext): ConfigProblem {
  const full = [...base, ...path]
  const value = valueAt(data, path)
  const at = schemaAt(schema, path)
  const meta = at ? metaOf(at) : {}
  const refused = meta.refused?.[String(value)]
  const mended = !at ? { value: undefined } : refused ? { value: defaultOf(at) } : repair(at, value)
  const ownWords = issue.code === 'custom' && !meta.expected
  const expected = ownWords ? issue.message : `expected ${at ? describeSchema(at) : 'another value'}`
  const override = overrideAt(source, full)
  return {
    code: refused ? 'CONFIG_NOT_SUPPORTED' : 'CONFIG_VALUE',
    key: full.join('.'),
    message: refused ?? `${expected}, got ${describeValue(value)}`,
    guess: mended.guess,
    place: placeOf(source, full, override, 'value'),
    fix: override ? rewriteValue(override, mended.value) : valueFix(source, full, mended.value),
  }
}

/** Writes another value, or takes the key out where there is none to write. */
export function valueFix(source: ConfigSource, path: Path, value: unknown): Fix {
  return { kind: 'edit', edits: value === undefined ? removeKey(source, path) : replaceValue(source, path, value) }
}

export const rewriteValue = (override: Override, value: unknown): Fix =>
  rewrite(
    override,
    value === undefined
      ? undefined
      : { path: override.path, text: typeof value === 'string' ? value : yamlValue(value) },
  )

export function placeOf(
  source: ConfigSource,
  path: Path,
  override: Override | undefined,
  part: 'key' | 'value',
): ConfigProblem['place'] {
  if (override) return { kind: 'override', argument: override.argument }
  return { kind: 'file', span: part === 'key' ? keySpan(source, path) : valueSpan(source, path) }
}

function rewrite(override: Override, to: Pick<Override, 'path' | 'text'> | undefined): Fix {
  return { kind: 'override', from: override.argument, to: to && `${to.path.join('.')}=${to.text}` }
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) => (value as Record<string | number, unknown> | null | undefined)?.[step],
    data,
  )
}

const asAside = (sentence: string) => (sentence.charAt(0).toLowerCase() + sentence.slice(1)).replace(/\.$/, '')

function firstLegal(schema: z.ZodType | undefined): unknown {
  return [1, 'value', true, [], {}].find((value) => schema?.safeParse(value).success)
}

const samePath = (a: Path, b: Path) => a.length === b.length && a.every((step, i) => step === b[i])
