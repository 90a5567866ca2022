/** @file Old checkpoints: which may go. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { INTERRUPTED, savedEpochs } from './open.ts'

/** Called after `epoch` was saved: keeps the newest `keep` epochs up to it (0 = all); what was interrupted before it is out of date. */
export async function pruneSnapshots(path: string, epoch: number, keep: number): Promise<void> {
  const upToHere = (await savedEpochs(path)).filter((saved) => saved <= epoch)
  const stale = keep > 0 ? upToHere.slice(0, -keep).map(String) : []
  await Promise.all([...stale, INTERRUPTED].map((name) => rm(join(path, name), { recursive: true, force: true })))
}
