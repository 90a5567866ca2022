/** @file Checks what was published: the log, every file, every chain, and the rows against the checkpoint that the trainer saved after them. */
import { readExport } from '../export/index.ts'
import { readDelta } from './delta.ts'
import { chainOf, type Version, versionName } from './log.ts'
import { replay } from './replay.ts'
import type { VersionSource } from './source.ts'

/** What is wrong with a version. */
export interface VersionProblem {
  readonly version: string
  readonly kind: 'missing' | 'duplicate' | 'out of order' | 'incomplete' | 'differs'
  readonly message: string
}

/** Of the log alone: numbers that are missing, twice there or go back, and versions that follow nothing that is there. */
export function logProblems(versions: readonly Version[]): readonly VersionProblem[] {
  const ids = new Set(versions.map(({ id }) => id))
  const seen = new Map<number, Version>()
  const problems: VersionProblem[] = []
  const add = (version: Version, kind: VersionProblem['kind'], message: string) =>
    problems.push({ version: versionName(version), kind, message })
  for (const [i, version] of versions.entries()) {
    const before = versions[i - 1]
    const twin = seen.get(version.sequence)
    if (twin) add(version, 'duplicate', `number ${version.sequence} is ${versionName(twin)} too`)
    else if (before && version.sequence < before.sequence)
      add(version, 'out of order', `number ${version.sequence} stands behind number ${before.sequence}`)
    else if (before && version.sequence > before.sequence + 1 && version.kind === 'delta')
      add(version, 'missing', `numbers ${before.sequence + 1} to ${version.sequence - 1} are not there`)
    if (version.kind === 'delta' && (version.follows === null || !ids.has(version.follows)))
      add(version, 'missing', `what it follows (${version.follows}) is not there`)
    else if (version.kind === 'delta' && before && version.follows !== before.id)
      add(version, 'out of order', `it follows another version than ${versionName(before)}, which stands before it`)
    seen.set(version.sequence, version)
  }
  return problems
}

/** Of every version, its files; of the newest of each base, whether replaying the chain gives what its trainer had. */
export async function verifyVersions(
  source: VersionSource,
  onVersion: (version: Version) => void = () => undefined,
): Promise<readonly VersionProblem[]> {
  const versions = await source.versions()
  const problems = [...logProblems(versions)]
  for (const version of versions) {
    onVersion(version)
    const name = versionName(version)
    try {
      const folder = await source.folder(version)
      if (version.kind === 'base') await readExport(folder)
      else {
        const { manifest } = await readDelta(folder)
        if (manifest.follows !== version.follows || manifest.base !== version.base)
          problems.push({
            version: name,
            kind: 'differs',
            message: 'its manifest names another base or predecessor than the log',
          })
      }
    } catch (error) {
      problems.push({ version: name, kind: 'incomplete', message: (error as Error).message })
    }
  }
  try {
    const dense = await source.dense()
    if (dense) await source.denseModel(dense)
  } catch (error) {
    problems.push({ version: 'dense weights', kind: 'incomplete', message: (error as Error).message })
  }
  for (const version of lastOfBases(versions)) {
    if (problems.length > 0 || !chainOf(versions, version)) break
    try {
      await replay(source, versions, version)
    } catch (error) {
      problems.push({ version: versionName(version), kind: 'differs', message: (error as Error).message })
    }
  }
  return problems
}

/** The last version that each base leads to. */
export function lastOfBases(versions: readonly Version[]): readonly Version[] {
  return [...new Map(versions.map((version) => [version.base, version])).values()]
}
