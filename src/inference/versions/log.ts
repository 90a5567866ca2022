/** @file versions.jsonl: what was published, in order. A line is added once what it names is whole. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../base/util/index.ts'
import { noSuchVersion } from './errors.ts'

export const VERSIONS_FILE = 'versions.jsonl'

const whole = z.int().min(0)

const line = z.object({
  /** One more with each version of a trainer. */
  sequence: whole,
  kind: z.enum(['base', 'delta']),
  day: z.string(),
  /** 0: what a day begins with. */
  pass: whole,
  /** Of its folder, relative to that of the file. */
  path: z.string(),
  /** Of its content and of all that it follows. */
  id: z.string(),
  /** The version that it changes; of a base the one whose place it takes, if any. */
  follows: z.string().nullable(),
  /** The base that it needs; of a base itself. */
  base: z.string(),
  rows: whole,
  gone: whole,
  bytes: whole,
  publishedAt: z.string(),
})

/** One published version. */
export type Version = z.infer<typeof line>

/** `20190720/7`; pass 0 is what the day begins with. */
export const versionName = ({ day, pass }: Pick<Version, 'day' | 'pass'>) => `${day}/${pass}`

/** A version's id out of that of the version before it ('' for none) and the checksums of its content: no two of a log are the same. */
export const versionId = (follows: string, content: readonly string[]) =>
  createHash('sha256')
    .update([follows, ...content].join(' '))
    .digest('hex')
    .slice(0, 16)

/** Fields in one order, also of a version that was read. */
export const versionLine = (version: Version): string => `${JSON.stringify(line.parse(version))}\n`

export function parseVersions(text: string, folder: string): readonly Version[] {
  const lines = text.split('\n').filter((one) => one !== '')
  return lines.map((one, i) => {
    const parsed = line.safeParse(jsonOf(one))
    if (parsed.success) return parsed.data
    const issue = parsed.error.issues[0]
    throw new UserError(`this line cannot be read: ${issue?.path.join('.')}: ${issue?.message}`, {
      code: 'VERSION_DAMAGED',
      where: { file: join(folder, VERSIONS_FILE), line: i + 1 },
      hint: 'the file is written whole by the trainer; restore it, or let the trainer go on, which writes it anew',
    })
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The newest, or the one that `at` (DAY/PASS) names. */
export function chosenVersion(versions: readonly Version[], at: string | undefined): Version | undefined {
  if (at === undefined) return versions.at(-1)
  const found = versions.findLast((version) => versionName(version) === at)
  if (!found) throw noSuchVersion(at, versions.map(versionName))
  return found
}

/** The base of a version and all deltas up to it, in order; undefined where one is missing or does not follow. */
export function chainOf(versions: readonly Version[], last: Version): readonly Version[] | undefined {
  const byId = new Map(versions.map((version) => [version.id, version]))
  const chain: Version[] = []
  for (let at: Version | undefined = last; at; at = at.follows === null ? undefined : byId.get(at.follows)) {
    chain.unshift(at)
    if (at.kind === 'base') return chain
    if (chain.length > versions.length) return undefined
  }
  return undefined
}
