/** @file The files of a job on its host: taken from what earlier jobs left there, where that is the same to the last byte. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../../base/util/index.ts'
import { runningProcesses } from './host-processes.ts'
import type { AnswerOf, FileEntry, RequestOf } from './protocol.ts'

const MANIFEST = '.oarfish/files.json'
const EARLIER_JOBS = 50

export async function take({ root, folder, files, folders }: RequestOf<'take'>): Promise<AnswerOf<'take'>> {
  mkdirSync(folder) // of this job alone: it must not be there
  for (const path of folders) mkdirSync(join(folder, path), { recursive: true })
  const kept = earlierFiles(root)
  const missing: string[] = []
  for (const file of files) {
    const to = join(folder, file.path)
    mkdirSync(dirname(to), { recursive: true })
    if (!(await takeFrom(kept.get(file.sha256) ?? [], to, file))) missing.push(file.path)
  }
  return { missing }
}

export function seal({ folder, files }: RequestOf<'seal'>): null {
  const wrong = files.find(({ path, bytes }) => sizeOf(join(folder, path)) !== bytes)
  if (wrong)
    throw new UserError(`${join(folder, wrong.path)} did not arrive whole; was it changed during the upload?`, {
      code: 'SSH_UPLOAD',
      hint: 'Run the command again: what has arrived is not uploaded twice.',
    })
  mkdirSync(join(folder, dirname(MANIFEST)), { recursive: true })
  writeFileSync(join(folder, MANIFEST), JSON.stringify(files))
  return null
}

/** Refuses a folder in which a job runs: two would write the same logs. */
export function openFolder({ folder, node }: RequestOf<'open'>): null {
  if (!existsSync(folder))
    throw new UserError(`there is no ${folder}.`, {
      code: 'SSH_WORKSPACE',
      hint: 'It must be there from an earlier dispatch, or on a shared disk; otherwise dispatch your files.',
    })
  const [running] = runningProcesses(folder)
  if (running)
    throw new UserError(`${running.job} still runs in ${folder} (pid ${running.pid}).`, {
      code: 'SSH_WORKSPACE',
      hint: `End it: oarfish stop ${running.job}`,
    })
  const log = join(folder, 'log')
  mkdirSync(log, { recursive: true })
  if (node === undefined) return null
  for (const name of readdirSync(log)) rmSync(join(log, name), { recursive: true, force: true })
  writeFileSync(join(folder, 'nodefile'), `${node}\n`)
  return null
}

/** Where contents lie, by hash: in the folders of the newest jobs first. */
function earlierFiles(root: string): ReadonlyMap<string, readonly string[]> {
  const jobs = readdirSync(root)
    .filter((name) => existsSync(join(root, name, MANIFEST)))
    .sort()
    .reverse()
    .slice(0, EARLIER_JOBS)
  const found = new Map<string, string[]>()
  for (const job of jobs) {
    for (const { path, sha256 } of manifestOf(join(root, job))) {
      const places = found.get(sha256)
      if (places) places.push(join(root, job, path))
      else found.set(sha256, [join(root, job, path)])
    }
  }
  return found
}

/** Written in one go at the end of an upload; one that a full disk cut off says nothing. */
function manifestOf(folder: string): readonly FileEntry[] {
  try {
    return JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')) as readonly FileEntry[]
  } catch {
    return []
  }
}

/** The copy is what is compared: a job may have changed its files since they arrived. */
async function takeFrom(
  places: readonly string[],
  to: string,
  { bytes, sha256, executable }: FileEntry,
): Promise<boolean> {
  for (const place of places.filter((path) => sizeOf(path) === bytes)) {
    copyFileSync(place, to, constants.COPYFILE_FICLONE)
    chmodSync(to, executable ? 0o755 : 0o644)
    if ((await hashOf(to)) === sha256) return true
    rmSync(to)
  }
  return false
}

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
