/** @file Removes models of days gone by, but never what a version that is kept needs. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { replaceFile } from '../../base/fs/index.ts'
import { dayAfter, isDay } from '../../base/util/index.ts'
import { chainOf, VERSIONS_FILE, type Version, versionLine } from '../../inference/versions/index.ts'
import { lastModel } from './donefiles.ts'

export interface PruneOptions {
  readonly config: JobConfig
  readonly emit: EventSink
  readonly root: string
  readonly versions: readonly Version[]
  /** The day that begins. */
  readonly day: string
}

/** By keep_days and keep_versions; returns the versions that are left. The log first: nobody is led to a folder that goes. */
export async function pruneVersions({ config, emit, root, versions, day }: PruneOptions): Promise<readonly Version[]> {
  const { keep_days, keep_versions } = config.runner
  if (keep_days === 0 && keep_versions === 0) return versions
  const oldest = keep_days === 0 ? '' : dayAfter(day, -keep_days)
  const kept = keptVersions(versions, oldest, keep_versions)
  if (kept.length < versions.length) await replaceFile(join(root, VERSIONS_FILE), kept.map(versionLine).join(''))
  const needed = new Set(kept.map(({ path }) => path.split('/').slice(0, 2).join('/')))
  const start = await lastModel(root)
  if (start) needed.add(`${start.day}/${start.pass === -1 ? 0 : start.pass}`)
  // Not those that the log had alone: a job that was killed here before has left some that no log names.
  const named = kept.length === 0 ? [] : (await foldersBefore(root, dayAfter(day, 1))).filter(isPublished)
  const old = keep_days === 0 ? [] : await foldersBefore(root, oldest)
  const folders = [...new Set([...named, ...old])].filter((folder) => !needed.has(folder))
  for (const folder of folders) await rm(join(root, folder), { recursive: true, force: true })
  if (keep_days > 0) await removeEmptyDays(root, oldest)
  if (folders.length > 0)
    emit({
      kind: 'notice',
      message: `${folders.length} models of days gone by were removed (keep_days, keep_versions).`,
    })
  return kept
}

const isPublished = (folder: string) => /\/(base|delta-\d+)$/.test(folder)

/** Those that are recent enough, and the base and deltas that each of them needs. */
export function keptVersions(versions: readonly Version[], oldest: string, most: number): readonly Version[] {
  const recent = versions.filter(({ day }, i) => day >= oldest && (most === 0 || i >= versions.length - most))
  const needed = new Set(recent.flatMap((version) => chainOf(versions, version) ?? [version]))
  return versions.filter((version) => needed.has(version))
}

async function foldersBefore(root: string, oldest: string): Promise<readonly string[]> {
  const days = (await readdir(root)).filter((name) => isDay(name) && name < oldest)
  const each = await Promise.all(
    days.map(async (day) => (await readdir(join(root, day))).map((name) => `${day}/${name}`)),
  )
  return each.flat()
}

async function removeEmptyDays(root: string, oldest: string): Promise<void> {
  for (const day of (await readdir(root)).filter((name) => isDay(name) && name < oldest))
    if ((await readdir(join(root, day))).length === 0) await rm(join(root, day), { recursive: true })
}
