/** @file Turns what zod found into problems with place, guess and fix. */
import type { z } from 'zod'
import { suggest } from '../util/index.ts'
import { describeSchema, describeValue } from './describe.ts'
import type { Fix } from './fix.ts'
import { placeOf, renameFix, samePath, setFix, valueAt } from './mend.ts'
import { type ConfigProblem, MOST_PROBLEMS } from './problem.ts'
import { type Repair, repair } from './repair.ts'
import { type ConfigSource, overrideAt, overrideBelow } from './source.ts'
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

/** The problems in the issues of one failed parse, no more of each kind than anybody reads: each is looked up in the whole file. */
export function problemsOf(issues: readonly z.core.$ZodIssue[], context: IssueContext): ConfigProblem[] {
  const unknown = issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => asTyped([...(issue.path as Path), key], context))
        : [],
    )
    .slice(0, MOST_PROBLEMS)
  const targets = unknown.map((path) => targetOf(path, context))
  const others = issues.filter(({ code }) => code !== 'unrecognized_keys').slice(0, MOST_PROBLEMS)
  return [
    ...unknown.map((path, i) => unknownKey(path, targets[i], context)),
    ...others.flatMap((issue) => {
      const path = issue.path as Path
      if (valueAt(context.data, path) !== undefined) return [wrongValue(path, issue, context)]
      // A mistyped key is not missing as well.
      const mistyped = targets.some((target) => target && samePath(target, [...context.base, ...path]))
      return mistyped ? [] : [missingKey(path, context)]
    }),
  ]
}

/** All of the key where an -o argument goes on below what is unknown: `optimizer.learning_rate` of an unknown `optimizer`. */
function asTyped(path: Path, { source, base }: IssueContext): Path {
  return overrideBelow(source, [...base, ...path])?.path.slice(base.length) ?? path
}

/** The key that was probably meant: of another group, or one of the same group that looks alike. */
function targetOf(path: Path, { schema, base, elsewhere }: IssueContext): Path | undefined {
  const parent = path.slice(0, -1)
  const last = String(path.at(-1))
  const near = suggest(last, keysOf(schemaAt(schema, parent)))
  if (near !== undefined) return elsewhere?.(path) ?? [...base, ...parent, near]
  // A key of the group written as if it were in a smaller one: `optimizer.learning_rate`.
  const isOuter = base.length > 0 && parent.length > 0 && keysOf(schema).includes(last)
  return elsewhere?.(path) ?? (isOuter ? [...base, last] : undefined)
}

/** Keys of a model that are listed where none is near. */
const MOST_KNOWN = 12

function unknownKey(path: Path, target: Path | undefined, { source, base, schema }: IssueContext): ConfigProblem {
  const full = [...base, ...path]
  const sameGroup = target && samePath(target.slice(0, -1), full.slice(0, -1)) && !overrideAt(source, full)
  const custom = full[0] === 'runner' && full.length === 2 && !target
  const known =
    target || base.length === 0 ? [] : keysOf(schemaAt(schema, path.slice(0, -1)) ?? schema).slice(0, MOST_KNOWN)
  const others = custom
    ? '; keys of your own reader or model go under runner.custom'
    : known.length > 0
      ? `; known are ${known.join(', ')}`
      : ''
  return {
    code: 'CONFIG_UNKNOWN_KEY',
    key: full.join('.'),
    message: `unknown key${others}`,
    guess: target && (sameGroup ? String(target.at(-1)) : target.join('.')),
    place: placeOf(source, full, 'key'),
    fix: target ? renameFix(source, full, target) : setFix(source, full, undefined),
  }
}

function missingKey(path: Path, { source, schema, base }: IssueContext): ConfigProblem {
  const full = [...base, ...path]
  const at = schemaAt(schema, path)
  const { description, example } = at ? metaOf(at) : {}
  return {
    code: 'CONFIG_MISSING_KEY',
    key: full.join('.'),
    message: `missing${at ? `, expected ${describeSchema(at)}` : ''}${description ? `. ${description.replace(/\.$/, '')}` : ''}`,
    place: placeOf(source, full, 'key'),
    fix: setFix(source, full, example ?? firstLegal(at)),
  }
}

function wrongValue(path: Path, issue: z.core.$ZodIssue, context: IssueContext): ConfigProblem {
  const { source, schema, data, base } = context
  const full = [...base, ...path]
  const value = valueAt(data, path)
  const at = schemaAt(schema, path)
  const meta = at ? metaOf(at) : {}
  const refused = meta.refused?.[String(value)]
  // A check over several keys knows itself what would be right: params: { fix }.
  const own = issue.code === 'custom' ? issue.params?.['fix'] : undefined
  const mended: Repair =
    own !== undefined
      ? { value: own }
      : !at
        ? { value: undefined }
        : refused
          ? { value: defaultOf(at) }
          : repair(at, value)
  const ownWords = issue.code === 'custom' && !meta.expected
  const expected = ownWords ? issue.message : `expected ${at ? describeSchema(at) : 'another value'}`
  return {
    code: refused ? 'CONFIG_NOT_SUPPORTED' : 'CONFIG_VALUE',
    key: full.join('.'),
    message: refused ?? `${expected}, got ${describeValue(value)}`,
    guess: mended.guess,
    place: placeOf(source, full, 'value'),
    fix: mended.value === undefined ? leaveOut(full, context) : setFix(source, full, mended.value),
  }
}

/** Nobody reads such a list written out again for each of its items. */
const LONG_LIST = 100

/** Takes a key out, or an item out of its list. */
function leaveOut(full: Path, { source, data, base }: IssueContext): Fix {
  const index = full.at(-1)
  if (typeof index !== 'number') return setFix(source, full, undefined)
  const list = valueAt(data, full.slice(base.length, -1)) as readonly unknown[]
  if (list.length > LONG_LIST) return { kind: 'advice', text: `take item ${index + 1} out of the list` }
  return setFix(
    source,
    full.slice(0, -1),
    list.filter((_item, i) => i !== index),
  )
}

function firstLegal(schema: z.ZodType | undefined): unknown {
  return [1, 'value', true, [], {}].find((value) => schema?.safeParse(value).success)
}
