/** @file Keys that no schema lists: those of a model or a reader are theirs, those that look mistyped are refused. */
import type { z } from 'zod'
import { editDistance } from '../../util/index.ts'
import { placeOf, renameFix } from '../mend.ts'
import { isRecord } from '../override.ts'
import type { ConfigProblem } from '../problem.ts'
import type { ConfigSource } from '../source.ts'
import { keysOf, type Path } from '../walk.ts'
import { configV1, datasetV1, phaseV1, REPLACED_PARTS, runnerV1, type UserConfigV1 } from './schema.ts'

const ITEMS = { runner: runnerV1, dataset: datasetV1, phase: phaseV1 } as const
type ItemGroup = keyof typeof ITEMS

/** Keys so close to a known one that nobody means another, where the known one is not set. */
export function freeKeyProblems(
  data: unknown,
  source: ConfigSource,
): readonly { readonly problem: ConfigProblem; readonly meant: Path }[] {
  if (!isRecord(data)) return []
  const groups = (Object.keys(ITEMS) as ItemGroup[]).flatMap((group) =>
    itemsOf(data, group).flatMap(({ item, path }) => mistypedIn(item, path, ITEMS[group], source)),
  )
  return [...mistypedIn(data, [], configV1, source), ...groups]
}

/** Keys that nothing here reads. A dataset with a reader of its own hands its keys to it. */
export function freeKeyNotices(user: UserConfigV1): string[] {
  const unread = [
    ...unknown(user, configV1),
    ...(['runner', 'phase'] as const).flatMap((group) =>
      user[group].flatMap((item) =>
        unknown(item, ITEMS[group])
          .filter((key) => !(REPLACED_PARTS as readonly string[]).includes(key))
          .map((key) => `${group}.${item.name}.${key}`),
      ),
    ),
    ...user.dataset
      .filter(({ data_converter }) => data_converter === undefined)
      .flatMap((item) => unknown(item, datasetV1).map((key) => `dataset.${item.name}.${key}`)),
  ]
  const replaced = user.runner.flatMap((runner) =>
    REPLACED_PARTS.filter((key) => key in runner).map((key) => `runner.${runner.name}.${key}`),
  )
  return [
    ...(unread.length > 0 ? [`keys that nothing here reads: ${unread.join(', ')}`] : []),
    ...(replaced.length > 0 ? [`Oarfish has its own trainer and does not read: ${replaced.join(', ')}`] : []),
  ]
}

function mistypedIn(item: Readonly<Record<string, unknown>>, path: Path, schema: z.ZodType, source: ConfigSource) {
  const known = keysOf(schema)
  return unknown(item, schema).flatMap((key) => {
    const meant = known.find((name) => !(name in item) && isMistyped(key, name))
    if (meant === undefined) return []
    const target = [...path, meant]
    const problem: ConfigProblem = {
      code: 'CONFIG_UNKNOWN_KEY',
      key: [...path, key].join('.'),
      message: 'unknown key',
      guess: meant,
      place: placeOf(source, [...path, key], 'key'),
      fix: renameFix(source, [...path, key], target),
    }
    return [{ problem, meant: target }]
  })
}

function isMistyped(key: string, name: string): boolean {
  const most = Math.min(2, name.length / 4)
  return Math.abs(key.length - name.length) <= most && editDistance(key, name) <= most
}

const unknown = (item: Readonly<Record<string, unknown>>, schema: z.ZodType) =>
  Object.keys(item).filter((key) => !keysOf(schema).includes(key))

/** The items of a list that are groups of keys, with their places. */
export function itemsOf(
  data: Readonly<Record<string, unknown>>,
  group: ItemGroup,
): readonly { readonly item: Record<string, unknown>; readonly path: Path }[] {
  const list = data[group]
  if (!Array.isArray(list)) return []
  return list.flatMap((item, i) => (isRecord(item) ? [{ item, path: [group, i] }] : []))
}
