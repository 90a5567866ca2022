/** @file Online training as the page draws it: versions out of the run's events, and the servers that follow them out of the files those keep. */
import { isAbsolute, join } from 'node:path'
import type { EventOf } from '../../base/event/index.ts'
import {
  FOLLOWERS_FOLDER,
  type FollowerStatus,
  type ReadFile,
  type RunMeta,
  readFollowers,
  type TimedEvent,
} from '../../base/runs/index.ts'
import type { FollowerRow, Online, PublishedVersion } from './api.ts'

const MOST_VERSIONS = 500
/** A server that follows writes every five seconds. */
const SILENT_MS = 30_000

/** Where servers that follow a run note how far they are; empty where it publishes nothing. */
export const followersFolder = (meta: RunMeta) => {
  const root = rootOf(meta)
  return root === undefined ? '' : join(root, FOLLOWERS_FOLDER)
}

function rootOf({ settings }: RunMeta): string | undefined {
  const root = settings?.['runner.model_save_path']
  return typeof root === 'string' && isAbsolute(root) ? root : undefined
}

export function onlineOf(meta: RunMeta, events: readonly TimedEvent[], read?: ReadFile): Online | undefined {
  const versions = versionsOf(events.filter((event) => event.kind === 'published'))
  const root = rootOf(meta)
  if (versions.length === 0 || root === undefined) return undefined
  const followers = readFollowers(root, read).map((status) => followerRow(status, versions))
  return { versions: versions.slice(-MOST_VERSIONS), total: versions.length, followers }
}

/** What a job publishes again after a new start counts once, as it is now. */
function versionsOf(events: readonly EventOf<'published'>[]): readonly PublishedVersion[] {
  const bySequence = new Map<number, PublishedVersion>()
  for (const { version: kind, sequence, day, pass, rows, gone, bytes, publishedAt: at } of events)
    if ([sequence, rows, bytes, at].every(Number.isFinite))
      bySequence.set(sequence, { kind, sequence, day, pass, rows, gone, bytes, at })
  return [...bySequence.values()].sort((a, b) => a.sequence - b.sequence)
}

function followerRow(status: FollowerStatus, versions: readonly PublishedVersion[]): FollowerRow {
  const { name, updatedAt, version, sequence, lagSeconds, pinned, waiting, taken } = status
  const behind = versions.filter((one) => one.sequence > sequence).length
  const isSilent = Date.now() - updatedAt > SILENT_MS
  return { name, isSilent, updatedAt, version, sequence, behind, lagSeconds, pinned, waiting, taken }
}
