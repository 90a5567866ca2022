/** @file Compares the versions of a folder with the checkpoints that their trainer saved: the rows that servers have are those it had. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  lastOfBases,
  openVersions,
  projection,
  type Replayed,
  replaySteps,
  type Version,
  type VersionProblem,
  versionName,
} from '../../inference/versions/index.ts'
import { openSnapshot, savedRows } from '../../weights/snapshot/index.ts'

export interface ComparedVersions {
  /** Names of those that had a checkpoint to be compared with. */
  readonly compared: readonly string[]
  readonly problems: readonly VersionProblem[]
}

/** Each version whose checkpoint, saved right after it, is still there. Rows as bytes may differ by the error that deltas state. */
export async function compareWithCheckpoints(
  root: string,
  versions: readonly Version[],
  tolerance: number,
  onVersion: (version: Version) => void = () => undefined,
): Promise<ComparedVersions> {
  const compared: string[] = []
  const problems: VersionProblem[] = []
  for (const last of lastOfBases(versions)) {
    for await (const reached of replaySteps(openVersions(root), versions, last)) {
      const { version } = reached
      onVersion(version)
      const folder = join(root, version.day, String(version.pass))
      if (!existsSync(join(folder, 'manifest.json'))) continue
      const message = await differenceFrom(reached, folder, tolerance)
      compared.push(versionName(version))
      if (message !== undefined) problems.push({ version: versionName(version), kind: 'differs', message })
    }
  }
  return { compared, problems }
}

async function differenceFrom(
  { tables, base }: Replayed,
  folder: string,
  tolerance: number,
): Promise<string | undefined> {
  const snapshot = await openSnapshot(folder, 'checkpoint')
  for (const [t, rows] of tables.entries()) {
    const name = base.manifest.tables[t]!.name
    const saved = snapshot.manifest.tables.find((table) => table.name === name)
    if (!saved) return `the checkpoint has no table ${name}`
    const { dim, rowBytes, dtype: precision, accessor } = saved
    const project = projection({ dim, rowBytes, precision, accessor })
    let [count, different] = [0, 0]
    for await (const block of savedRows(snapshot, saved)) {
      const words = new Uint32Array(block.signs.buffer, block.signs.byteOffset, 2 * block.signs.length)
      const [all, kept] = [new Float32Array(block.signs.length * dim), new Uint8Array(block.signs.length)]
      project(block.rows, block.signs.length, all, kept)
      for (let i = 0; i < block.signs.length; i++) {
        if (kept[i] === 0) continue
        count++
        const row = all.subarray(i * dim, (i + 1) * dim)
        const at = rows.find(words[2 * i]!, words[2 * i + 1]!)
        const isSame = at >= 0 && row.every((value, j) => Math.abs(value - rows.weights[at + j]!) <= tolerance)
        if (!isSame) different++
      }
    }
    if (different > 0) return `${different} rows of table ${name} are not those of the checkpoint`
    if (count !== rows.rows) return `table ${name} has ${rows.rows} rows, and the checkpoint ${count} to publish`
  }
  return undefined
}
