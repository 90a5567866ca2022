/** @file Files and folders that a config names: the reader module, the data folders; and what stands nearest to a missing one. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { editDistance, suggest } from '../util/index.ts'
import { placeOf, setFix } from './mend.ts'
import type { ConfigProblem } from './problem.ts'
import { type ConfigSource, isWritten } from './source.ts'

/** `afs:/…` and the like, which are not looked for on this machine. */
export const isRemote = (path: string) => /^(afs|hdfs|s3|file):/.test(path)

const ENDINGS = ['.ts', '.mts', '.js', '.mjs'] as const

/** The reader module's file: `criteo_reader` -> …/criteo_reader.ts, or undefined where none exists. */
export function readerFile(dir: string, path: string): string | undefined {
  if (path === '') return undefined
  return ENDINGS.map((ending) => resolve(dir, stem(path) + ending)).find((file) => existsSync(file))
}

export const stem = (path: string) => path.replace(/\.(py|ts|mts|js|mjs)$/, '')

/** A reader that was named, is not there, and was clearly meant to be: the built-in reader must not step in for a typo. */
export function readerProblem(
  key: string,
  path: string,
  { dir, source }: { dir: string; source: ConfigSource },
): ConfigProblem | undefined {
  const folder = dirname(resolve(dir, path))
  if (path === '' || !isWritten(source, ['runner', key]) || readerFile(dir, path) || !existsSync(folder))
    return undefined
  const name = basename(stem(path))
  const stems = readdirSync(folder)
    .filter((file) => ENDINGS.some((ending) => file.endsWith(ending)))
    .map(stem)
  const near = stems.find(
    (candidate) => editDistance(candidate.toLowerCase(), name.toLowerCase()) <= Math.min(2, name.length / 3),
  )
  const asScript = stem(path) !== path && !path.endsWith('.py')
  if (near === undefined && !asScript) return undefined
  const instead = near === undefined ? undefined : join(dirname(path), near)
  return pathProblem(source, key, { message: `no such reader: ${stem(path)}.ts`, instead })
}

/** A data folder that is not there. */
export function folderProblem(
  key: string,
  path: string,
  { dir, source }: { dir: string; source: ConfigSource },
): ConfigProblem | undefined {
  if (isRemote(path) || (existsSync(path) && statSync(path).isDirectory())) return undefined
  const folder = existsSync(path) ? dirname(path) : nearestFolder(path)
  const message = existsSync(path) ? `expected a folder, got the file ${path}` : `no such folder: ${path}`
  return pathProblem(source, key, { message, instead: folder && relative(dir, folder) })
}

/** Follows a path down as far as it exists, taking the nearest name where one is mistyped. */
export function nearestFolder(folder: string): string | undefined {
  const above = dirname(folder)
  const parent = existsSync(above) ? above : above === folder ? undefined : nearestFolder(above)
  if (parent === undefined) return undefined
  const same = join(parent, basename(folder))
  if (existsSync(same) && statSync(same).isDirectory()) return same
  const folders = readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const guess = suggest(
    basename(folder),
    folders.map((entry) => entry.name),
  )
  return guess === undefined ? undefined : join(parent, guess)
}

function pathProblem(
  source: ConfigSource,
  key: string,
  { message, instead }: { message: string; instead: string | undefined },
): ConfigProblem {
  const path = ['runner', key]
  const advice = { kind: 'advice', text: 'write a path that exists, relative to the folder of the yaml' } as const
  return {
    code: 'CONFIG_PATH',
    key: path.join('.'),
    message,
    guess: instead,
    place: placeOf(source, path, 'value'),
    fix: instead === undefined ? advice : setFix(source, path, instead),
  }
}
