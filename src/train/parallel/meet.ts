/** @file Ranks tell each other something, between steps. */
import type { Group } from '../../collective/index.ts'

/** What each rank has to say, in the order of ranks; JSON. */
export async function meet<T>(group: Group, own: T): Promise<readonly T[]> {
  const { values, counts } = await group.allGather(new TextEncoder().encode(JSON.stringify(own)))
  let at = 0
  return counts.map((count) => {
    at += count
    return JSON.parse(Buffer.from(values.slice(at - count, at)).toString('utf8')) as T
  })
}
