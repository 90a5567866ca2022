/** @file Folders of the server that users' processes pass through, to those of their jobs: nobody else can list them, and what lies in them is closed. */
import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

const PASSABLE = 0o711

/** Made with all above it that are missing, whatever umask root has; earlier versions made the folder for the server alone. */
export async function makePassable(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true })
  for (let made = folder; ; made = dirname(made)) {
    await chmod(made, PASSABLE)
    if (first === undefined || made === first || made === dirname(made)) return
  }
}
