/** @file A 1.x config by dotted keys, as PaddleRec prints it: `runner.single_cpu_train.epochs`. */
import { isRecord } from '../override.ts'
import type { LoadedRunConfig } from './load.ts'

/** As written, with `{workspace}` in it; items of lists by their name. */
export function flattenRunConfig({ source }: Pick<LoadedRunConfig, 'source'>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(entries(source.document.toJS(), ''))
}

function entries(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  const below = (key: string) => (path === '' ? key : `${path}.${key}`)
  if (isRecord(value)) return Object.entries(value).flatMap(([key, item]) => entries(item, below(key)))
  if (!Array.isArray(value) || !NAMED.includes(path)) return [[path, value]]
  return value.flatMap((item) => {
    if (!isRecord(item)) return []
    const { name, ...rest } = item
    return entries(rest, below(String(name)))
  })
}

const NAMED = ['runner', 'dataset', 'phase']
