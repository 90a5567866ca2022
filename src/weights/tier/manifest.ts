/** @file Which runs a folder has: one file that changes as a whole, so that a process that is killed leaves the runs before or after. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { damagedRun, otherRun, type RunKind } from './run-format.ts'

export const TIER_FILE = 'tier.json'
const FORMAT = 'oarfish-tier'
const VERSION = 1
const OWN_FILES = /^(run-\d+\.bin|tier\.json(\.new)?|\..*\.oarfish-model-lock)$/

export interface TierManifest extends RunKind {
  /** Whose rows they are. */
  readonly job: string
  /** The number of the next run. */
  readonly next: number
  /** Newest first. */
  readonly runs: readonly { readonly file: string; readonly level: number }[]
}

export function writeManifest(folder: string, manifest: TierManifest, isDurable: boolean): void {
  const path = join(folder, TIER_FILE)
  const text = JSON.stringify({ format: FORMAT, version: VERSION, ...manifest })
  const file = openSync(`${path}.new`, 'w', 0o600)
  try {
    writeSync(file, `${crc32(text)} ${text}\n`)
    if (isDurable) fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(`${path}.new`, path)
  if (!isDurable) return
  const entries = openSync(folder, 'r')
  try {
    fsyncSync(entries)
  } finally {
    closeSync(entries)
  }
}

/** What a folder has; undefined: nothing yet. Refuses what is of another table, version or job, and folders of other things. */
export function readManifest(folder: string, kind: RunKind & { readonly job: string }): TierManifest | undefined {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const foreign = readdirSync(folder).find((name) => !OWN_FILES.test(name))
  if (foreign !== undefined) throw otherRun(folder, `it has ${foreign}, which is no file of a table's`)
  const path = join(folder, TIER_FILE)
  if (!existsSync(path)) return undefined
  const [, crc, json = ''] = /^(\d+) (\{.*\})\n$/s.exec(readFileSync(path, 'utf8')) ?? []
  if (crc32(json) !== Number(crc)) throw damagedRun(path, 'its checksum does not match')
  const { format, version, ...manifest } = JSON.parse(json) as TierManifest & { format: string; version: number }
  if (format !== FORMAT || version !== VERSION)
    throw otherRun(path, `it is ${format} version ${version}, this program has ${FORMAT} version ${VERSION}`)
  if (manifest.job !== kind.job)
    throw otherRun(path, `it belongs to the job of ${manifest.job}, not to that of ${kind.job}`)
  if (manifest.table !== kind.table)
    throw otherRun(path, `it has rows of table ${manifest.table}, not of ${kind.table}`)
  if (manifest.layout !== kind.layout || manifest.rowBytes !== kind.rowBytes)
    throw otherRun(
      path,
      `rows have another layout there (${manifest.rowBytes} bytes each; this table's have ${kind.rowBytes})`,
    )
  return manifest
}

/** Files that a killed process was writing, or had merged already. */
export function removeUnlisted(folder: string, listed: readonly string[]): void {
  for (const name of readdirSync(folder))
    if ((/^run-\d+\.bin$/.test(name) && !listed.includes(name)) || name === `${TIER_FILE}.new`)
      unlinkSync(join(folder, name))
}
