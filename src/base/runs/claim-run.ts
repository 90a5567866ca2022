/** @file A folder for a run: a new one, or the one that other processes of the same job, or the same run before it was resumed, have made. */
import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { explain, type LoadedConfig, SECRET_KEYS } from '../config/index.ts'
import type { Env } from '../env/index.ts'
import { packageFile } from '../util/index.ts'
import { readGitCommit } from './git-commit.ts'
import { RUN_VERSION, type RunMeta, runPaths } from './run-paths.ts'
import { readJson } from './status-file.ts'

/** What a run is of. */
export interface RecordedConfig extends Pick<LoadedConfig, 'config'> {
  readonly source: Pick<LoadedConfig['source'], 'file' | 'text' | 'overrides'>
  /** @default those of `config` */
  readonly settings?: RunMeta['settings'] | undefined
}

interface ClaimOptions {
  readonly config: RecordedConfig
  readonly env: Env
  readonly resume: boolean
}

/** Returns the folder: `folder`, or `folder-2` and so on where that is of another run. */
export function claimRun(folder: string, { config, env, resume }: ClaimOptions): string {
  const id = env['OARFISH_JOB_ID'] || randomBytes(6).toString('hex')
  for (let n = 1; ; n++) {
    const own = n === 1 ? folder : `${folder}-${n}`
    mkdirSync(own, { recursive: true })
    if (writeNew(runPaths(own).meta, JSON.stringify({ ...describe(basename(own), config), id }, undefined, 1)))
      return own
    const known = readJson(runPaths(own).meta) as { readonly id?: string } | undefined
    if (known?.id === id || resume) return own
  }
}

/** In one move, with its text: other processes of the job do the same at the same time. */
function writeNew(path: string, text: string): boolean {
  const aside = join(dirname(path), `.run-${process.pid}-${randomBytes(4).toString('hex')}`)
  writeFileSync(aside, `${text}\n`)
  try {
    linkSync(aside, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function describe(name: string, { config, source, settings = explain(config) }: RecordedConfig): RunMeta {
  const { file, text, overrides } = source
  return {
    version: RUN_VERSION,
    name,
    createdAt: Date.now(),
    oarfish: JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    host: hostname(),
    cwd: process.cwd(),
    command: process.argv.slice(1).map((word) => withoutSecrets(word)),
    commit: readGitCommit(config.dir),
    model: config.model ?? config.dir,
    settings,
    source: { file, text: withoutSecrets(text), overrides: overrides.map(({ argument }) => withoutSecrets(argument)) },
  }
}

/** Values of keys that hold secrets, to the end of their line: a run folder is passed around. */
const withoutSecrets = (text: string) =>
  text.replaceAll(new RegExp(`(\\b(?:${SECRET_KEYS})["']?\\s*[:=])[^\\n]*`, 'gi'), '$1 ***')
