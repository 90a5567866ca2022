/** @file What all ranks must have in common, compared before anything is computed. */
import { disagreement } from './errors.ts'
import type { Group } from './group.ts'

export type Facts = Readonly<Record<string, unknown>>

/**
 * Throws the same on every rank when one has another value of a key than rank 0: `runner.seed is 1 at rank 0 and 2 at rank 1`.
 * Keys of nested objects are joined by dots. Leave out what may differ from host to host, like paths.
 */
export async function agree(group: Group, facts: Facts): Promise<void> {
  const { values, counts } = await group.allGather(new Uint8Array(Buffer.from(JSON.stringify(flat(facts)))))
  let at = 0
  const all = counts.map((count) => {
    at += count
    // A copy: text is not decoded from shared memory.
    return JSON.parse(Buffer.from(values.slice(at - count, at)).toString('utf8')) as Readonly<Record<string, string>>
  })
  const first = all[0]!
  for (const [rank, other] of all.entries()) {
    const key = [...Object.keys(first), ...Object.keys(other)].find((name) => first[name] !== other[name])
    if (key !== undefined) throw disagreement(key, first[key], rank, other[key])
  }
}

function flat(facts: Facts, path = ''): Record<string, string> {
  const entries = Object.entries(facts).flatMap(([name, value]) => {
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isGroup
      ? Object.entries(flat(value as Facts, `${path}${name}.`))
      : [[`${path}${name}`, textOf(value)] as const]
  })
  return Object.fromEntries(entries)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}
