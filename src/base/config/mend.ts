/** @file Where a setting was written, and the fix that changes it there: in the yaml, or in the -o argument that brought it. */
import { insertKey, moveKey, removeKey, renameKey, replaceValue, yamlValue } from './edit.ts'
import type { Fix } from './fix.ts'
import { isRecord, type Override } from './override.ts'
import type { ConfigProblem } from './problem.ts'
import { type ConfigSource, findNode, isWritten, keySpan, overrideAt, overrideBelow, valueSpan } from './source.ts'
import type { Path } from './walk.ts'
import { parseYamlValue } from './yaml-text.ts'

export function placeOf(source: ConfigSource, path: Path, part: 'key' | 'value'): ConfigProblem['place'] {
  const override = overrideAt(source, path) ?? overrideBelow(source, path)
  if (override) return { kind: 'override', argument: override.argument }
  return { kind: 'file', span: part === 'key' ? keySpan(source, path) : valueSpan(source, path) }
}

/** Gives the setting another value, or takes it out where `value` is undefined. */
export function setFix(source: ConfigSource, path: Path, value: unknown): Fix {
  const override = overrideAt(source, path)
  const below = overrideBelow(source, path)
  if (override)
    return inOverride(override, path, (written) => changed(written, path.slice(override.path.length), value))
  if (below) return { kind: 'override', from: below.argument, to: undefined }
  if (value === undefined) return { kind: 'edit', edits: removeKey(source, path) }
  if (isWritten(source, path) || isItem(source, path)) return { kind: 'edit', edits: replaceValue(source, path, value) }
  return { kind: 'edit', edits: insertKey(source, path.slice(0, -1), String(path.at(-1)), value) }
}

/** A place in a list that is there. */
const isItem = (source: ConfigSource, path: Path) =>
  typeof path.at(-1) === 'number' && findNode(source, path) !== undefined

/** Calls the setting by another name, in the same group or another. */
export function renameFix(source: ConfigSource, path: Path, target: Path): Fix {
  const override = overrideAt(source, path)
  if (override && override.path.length === path.length) return written(override, target.join('.'), override.text)
  if (override) {
    const [from, to] = [path, target].map((full) => full.slice(override.path.length))
    return inOverride(override, path, (value) => changed(changed(value, to!, valueAt(value, from!)), from!, undefined))
  }
  const name = String(target.at(-1))
  const parent = target.slice(0, -1)
  return {
    kind: 'edit',
    edits: samePath(parent, path.slice(0, -1)) ? renameKey(source, path, name) : moveKey(source, path, parent, name),
  }
}

export function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) => (value as Record<string | number, unknown> | null | undefined)?.[step],
    data,
  )
}

export const samePath = (a: Path, b: Path) => a.length === b.length && a.every((step, i) => step === b[i])

/** The argument with its value changed; left out where nothing remains. */
function inOverride(override: Override, path: Path, change: (value: unknown) => unknown): Fix {
  const whole = path.length === override.path.length
  const value = change(whole ? undefined : parseYamlValue(override.text))
  if (value === undefined) return { kind: 'override', from: override.argument, to: undefined }
  return written(override, override.path.join('.'), typeof value === 'string' ? value : yamlValue(value))
}

const written = (override: Override, key: string, text: string): Fix => ({
  kind: 'override',
  from: override.argument,
  to: `${key}=${text}`,
})

/** A copy of `data` with the value at `path` set, or taken out. */
function changed(data: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  const next = changed((data as Record<string | number, unknown> | undefined)?.[step], rest, value)
  if (Array.isArray(data)) return data.flatMap((item, i) => (i !== step ? [item] : next === undefined ? [] : [next]))
  const { [step]: _old, ...others } = isRecord(data) ? data : {}
  return next === undefined ? others : { ...others, [step]: next }
}
