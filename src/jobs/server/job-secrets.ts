/** @file `fs_ugi` of jobs that are not over: one sealed file each, beside the journal, which never holds them. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivate } from '../../base/fs/index.ts'
import type { Sealer } from './seal.ts'

export interface JobSecrets {
  of(id: string): string | undefined
  put(id: string, secret: string): Promise<void>
  drop(id: string): void
  /** Those of jobs that ended while no server ran, or that were never admitted. */
  keepOnly(isWanted: (id: string) => boolean): void
}

export function openJobSecrets(folder: string, sealer: Sealer): JobSecrets {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const fileOf = (id: string) => join(folder, id)
  const drop = (id: string) => rmSync(fileOf(id), { force: true })
  return {
    of: (id) => {
      try {
        return sealer.open(readFileSync(fileOf(id), 'utf8').trim(), id)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    put: async (id, secret) => await writePrivate(fileOf(id), `${sealer.seal(secret, id)}\n`),
    drop,
    keepOnly: (isWanted) => {
      for (const name of readdirSync(folder)) if (!isWanted(name)) drop(name)
    },
  }
}
