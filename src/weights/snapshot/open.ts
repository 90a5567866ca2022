/** @file Finds, opens and removes checkpoints: a manifest that is whole, and files of the sizes it says. */
import { createReadStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { readSmallText } from '../../base/fs/index.ts'
import { baseOf } from './chain.ts'
import { damaged, foreign, missing } from './errors.ts'
import { hexOf, MANIFEST, type Manifest, parseManifest } from './manifest.ts'
import { isCheckpoint } from './save.ts'

/** A checkpoint whose manifest was read and whose files are there; their checksums are compared as they are loaded. */
export interface Snapshot {
  readonly folder: string
  readonly manifest: Manifest
}

/** The checkpoint that a stopped run leaves inside an epoch. */
export const INTERRUPTED = 'interrupted'

/** Opens the checkpoint in `folder`, which the setting `key` named. */
export async function openSnapshot(folder: string, key: string): Promise<Snapshot> {
  const file = join(folder, MANIFEST)
  const text = await readSmallText(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error.code === 'EFBIG' || error.code === 'ENOTFILE' ? damaged(file, error.message) : error
  })
  if (text === undefined) throw await notThere(folder, key)
  const parsed = parseManifest(text)
  if (parsed.kind !== 'whole') throw (parsed.kind === 'foreign' ? foreign : damaged)(file, parsed.reason)
  const { manifest } = parsed
  for (const [name, { bytes }] of Object.entries(manifest.files)) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (!found) throw damaged(join(folder, name), 'it is missing')
    if (found.size !== bytes) throw damaged(join(folder, name), `it has ${found.size} bytes instead of ${bytes}`)
  }
  return { folder, manifest }
}

/** Epochs saved under `path`, in order; whether each is whole shows when it is opened. */
export async function savedEpochs(path: string): Promise<number[]> {
  const names = await readdir(path).catch(() => [])
  return names
    .filter((name) => /^(0|[1-9]\d*)$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

/** A cut is a checkpoint inside an epoch, by its number of batches. */
export const cutName = (epoch: number, batch: number) => `cut-${epoch}-${batch}`
const CUT = /^cut-\d+-\d+$/
const BEGUN = /^(cut-\d+-\d+\.(tmp|old)|interrupted\.tmp)-/
/** Folders of a run that a checkpoint may take the place of. */
export const isCheckpointName = (name: string) => /^\d+$/.test(name) || name === INTERRUPTED || CUT.test(name)

/** Removes cuts but for these; a folder of other things stays, whatever its name. */
export async function removeCuts(path: string, keep: readonly string[] = []): Promise<void> {
  const names = (await readdir(path).catch(() => [])).filter((name) => CUT.test(name) && !keep.includes(name))
  for (const folder of names.map((name) => join(path, name)))
    if (await isCheckpoint(folder)) await rm(folder, { recursive: true, force: true })
}

/** Removes what was left of cuts and of `interrupted` whose writing was cut off. Only with the folder's lock. */
export async function removeBegunCuts(path: string): Promise<void> {
  const names = (await readdir(path).catch(() => [])).filter((name) => BEGUN.test(name))
  await Promise.all(names.map((name) => rm(join(path, name), { recursive: true, force: true })))
}

/**
 * What a job under `path` may go on from, newest first: epochs, interrupted and cuts. Their bytes are compared as they are loaded; `onBroken`
 * is called for those that are seen to be broken before. Where `job` has saved some, they are these. `isName`: of folders that others than
 * runs name in their own way.
 */
export async function newestSnapshots(
  path: string,
  onBroken: (error: Error) => void,
  job?: string | undefined,
  isName: IsName = isCheckpointName,
): Promise<readonly Snapshot[]> {
  const all = await snapshotsIn(path, onBroken, isName)
  const own = job === undefined ? [] : all.filter(({ manifest }) => manifest.job === job)
  return own.length > 0 ? own : all
}

/** Throws at the first file whose bytes are not those that were saved: for whoever could not go back once it has begun to load. */
export async function checkBytes({ folder, manifest }: Snapshot): Promise<void> {
  for (const [name, mark] of Object.entries(manifest.files)) {
    const file = join(folder, name)
    let sum = 0
    for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) sum = crc32(piece, sum)
    if (hexOf(sum) !== mark.crc32) throw damaged(file, 'its checksum does not match its content')
  }
}

/** Cuts under `path` by themselves: the newest of those that need nothing of what this one is made of, for the day on which that is damaged. */
export async function cutOfChainBefore(path: string, snapshot: Snapshot): Promise<Snapshot | undefined> {
  const base = baseOf(snapshot)
  const others = await snapshotsIn(path, () => undefined)
  return others.find((other) => CUT.test(basename(other.folder)) && baseOf(other) !== base)
}

/** Whether there is anything that this job has saved, whole or not. */
export async function hasSnapshotOf(path: string, job: string, isName: IsName = isCheckpointName): Promise<boolean> {
  return (await snapshotsIn(path, () => undefined, isName)).some(({ manifest }) => manifest.job === job)
}

/** Larger than this must be what is saved next, though the clock was set back. */
export async function newestFence(path: string): Promise<number> {
  const [newest] = await snapshotsIn(path, () => undefined)
  return newest?.manifest.fence ?? 0
}

type IsName = (name: string) => boolean

/** Newest first. */
async function snapshotsIn(
  path: string,
  onBroken: (error: Error) => void,
  isName: IsName = isCheckpointName,
): Promise<readonly Snapshot[]> {
  const names = (await readdir(path).catch(() => [])).filter(isName)
  const found: Snapshot[] = []
  for (const name of names) {
    try {
      found.push(await openSnapshot(join(path, name), '--resume'))
    } catch (error) {
      onBroken(error as Error)
    }
  }
  return found.sort((a, b) => compareAges(b, a))
}

/** By who saved it, then by how far training was: clocks may be set back meanwhile, and count where nothing else does. */
function compareAges(a: Snapshot, b: Snapshot): number {
  const numbers = ({ manifest: { fence = 0, steps, position, ranks = [], workers = [] } }: Snapshot) => [
    fence,
    position.epoch,
    steps,
    [...ranks, ...workers].reduce((sum, place) => sum + place.position.batch, position.batch),
  ]
  const [ours, theirs] = [numbers(a), numbers(b)]
  const differs = ours.findIndex((value, i) => value !== theirs[i])
  if (differs >= 0) return ours[differs]! - theirs[differs]!
  return a.manifest.savedAt < b.manifest.savedAt ? -1 : 1
}

/** Called after `epoch` was saved: keeps the newest `keep` epochs up to it (0 = all) and the `best`; what was interrupted before it is out of date. */
export async function pruneSnapshots(path: string, epoch: number, keep: number, best?: number): Promise<void> {
  const upToHere = (await savedEpochs(path)).filter((saved) => saved <= epoch)
  const stale =
    keep > 0
      ? upToHere
          .slice(0, -keep)
          .filter((saved) => saved !== best)
          .map(String)
      : []
  await Promise.all([...stale, INTERRUPTED].map((name) => rm(join(path, name), { recursive: true, force: true })))
  await removeCuts(path)
}

async function notThere(folder: string, key: string): Promise<Error> {
  return missing(folder, key, await savedEpochs(join(folder, '..')))
}
